#include "problem/c_problem.hpp"

#include "base/versioned.hpp"
#include "problem/options.hpp"
#include "problem/tensor.hpp"

namespace rapt {

Problem from_c(const rapt_problem& given) {
  const rapt_problem c = read_versioned("problem", &given);
  const auto dtype = dtype_from(c.dtype);
  if (!dtype)
    throw Error(RAPT_INVALID_ARGUMENT,
                cat("problem.dtype is ", dtype_text(c.dtype), ", must be fp16, bf16, fp32 or fp64"));
  if (c.varlen_count < 0 || (c.varlen_count > 0 && c.varlen == nullptr))
    throw Error(RAPT_INVALID_ARGUMENT,
                cat("problem.varlen_count is ", c.varlen_count, c.varlen ? "" : " and problem.varlen is null"));
  Problem p;
  p.batch = c.batch;
  p.heads_q = c.heads_q;
  p.heads_k = c.heads_k;
  p.seqlen_q = c.seqlen_q;
  p.seqlen_k = c.seqlen_k;
  p.head_dim = c.head_dim;
  p.head_dim_v = c.head_dim_v;
  p.dtype = *dtype;
  for (const Option& option : options()) option.from_c(p, c);
  for (int64_t i = 0; i < c.varlen_count; ++i) p.add_sequence(c.varlen[2 * i], c.varlen[2 * i + 1]);
  p.validate();
  return p;
}

rapt_problem to_c(const Problem& p) {
  rapt_problem c = {};
  c.struct_size = sizeof c;
  c.batch = p.batch;
  c.heads_q = p.heads_q;
  c.heads_k = p.heads_k;
  c.seqlen_q = p.seqlen_q;
  c.seqlen_k = p.seqlen_k;
  c.head_dim = p.head_dim;
  c.head_dim_v = p.head_dim_v;
  c.dtype = dtype_code(p.dtype);
  for (const Option& option : options()) option.to_c(p, c);
  return c;
}

}  // namespace rapt
