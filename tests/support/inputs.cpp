#include "support/inputs.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace test {

namespace {

// In float64, with q and k decoded once.
class FinalLogit {
 public:
  explicit FinalLogit(const Inputs& in) : in_(in), c_(in.problem.c), q_(in.q.values()), k_(in.k.values()) {}

  double operator()(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const Problem& p = in_.problem;
    const double* q = q_.data() + ((p.first_q(b) + i) * c_.heads_q + h) * c_.head_dim;
    const double* k = k_.data() + (in_.row_k(b, j) * c_.heads_k + h / p.group()) * c_.head_dim;
    double s = 0;
    for (int64_t x = 0; x < c_.head_dim; ++x) s += q[x] * k[x];
    s *= p.scale();
    if (c_.softcap != 0) s = c_.softcap * std::tanh(s / c_.softcap);
    if (in_.bias) s += in_.bias.at({b, h, i, j});
    const int64_t off = c_.causal == RAPT_CAUSAL_TOP_LEFT ? 0 : p.seqlen_k(b) - p.seqlen_q(b);
    if (in_.alibi_slopes) {
      const double slope = in_.alibi_slopes.at(in_.alibi_slopes.shape().size() == 2 ? b * c_.heads_q + h : h);
      s -= slope * static_cast<double>(std::abs(i + off - j));
    }
    return s;
  }

 private:
  const Inputs& in_;
  const rapt_problem& c_;
  std::vector<double> q_, k_;
};

}  // namespace

Problem::Problem(const std::string& t) : text(t) {
  varlen.resize(2 * static_cast<size_t>(std::count(t.begin(), t.end(), ':')));
  c = init<rapt_problem>();
  if (rapt_problem_parse(t.c_str(), &c, varlen.data(), varlen.size() / 2) != RAPT_OK)
    throw std::runtime_error(rapt_last_error());
  c.varlen = varlen.data();
}

double Problem::scale() const { return c.has_scale ? c.softmax_scale : 1 / std::sqrt(static_cast<double>(c.head_dim)); }

Inputs Inputs::as(rapt_dtype dtype) const {
  Inputs out = *this;
  for (Tensor* t : {&out.q, &out.k, &out.v, &out.dout, &out.bias, &out.sink}) *t = t->converted(dtype);
  return out;
}

double Inputs::max_logit() const {
  const FinalLogit logit(*this);
  double largest = 0;
  for (int64_t b = 0; b < problem.c.batch; ++b)
    for (int64_t h = 0; h < problem.c.heads_q; ++h)
      for (int64_t i = 0; i < problem.seqlen_q(b); ++i)
        for (int64_t j = 0; j < problem.seqlen_k(b); ++j) {
          if (!attends(b, h, i, j)) continue;
          const double s = logit(b, h, i, j);
          if (std::isfinite(s)) largest = std::max(largest, std::fabs(s));
        }
  return largest;
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
