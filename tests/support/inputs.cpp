#include "support/inputs.hpp"

#include <algorithm>
#include <stdexcept>

namespace test {

Problem::Problem(const std::string& t) : text(t) {
  varlen.resize(2 * static_cast<size_t>(std::count(t.begin(), t.end(), ':')));
  c = init<rapt_problem>();
  if (rapt_problem_parse(t.c_str(), &c, varlen.data(), varlen.size() / 2) != RAPT_OK)
    throw std::runtime_error(rapt_last_error());
  c.varlen = varlen.data();
}

Inputs Inputs::as(rapt_dtype dtype) const {
  Inputs out = *this;
  for (Tensor* t : {&out.q, &out.k, &out.v, &out.dout, &out.bias, &out.sink}) *t = t->converted(dtype);
  return out;
}

Inputs make_inputs(const Problem& problem, Kind kind, Layout layout, uint64_t seed) {
  Inputs inputs(problem);
  const rapt_problem& p = inputs.problem.c;
  static_cast<rapt::cli::MadeTensors&>(inputs) = rapt::cli::make_tensors(p, kind, seed, {layout, true});
  std::vector<int64_t> shape = inputs.q.shape();
  shape.back() = p.head_dim_v;
  inputs.dout = Tensor(p.dtype, shape, layout);
  fill_normal(inputs.dout, seed, rapt::cli::kDoutStream);
  return inputs;
}

}  // namespace test
