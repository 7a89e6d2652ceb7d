#include "cli/core/inputs.hpp"

#include <fmt/format.h>

#include "cli/inputs/dtype.hpp"
#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

int64_t scores(const rapt_problem& p, int32_t bits) {
  return (bits & RAPT_PER_BATCH ? p.batch : 1) * (bits & RAPT_PER_HEAD ? p.heads_q : 1) *
         (bits & RAPT_PER_QUERY ? p.seqlen_q : 1) * p.seqlen_k;
}

// Problems that a text can describe but for which this file cannot make tensors.
void require_makeable(const Problem& problem) {
  const rapt_problem p = problem.c();
  if (p.device_lengths || (p.has_cache && p.page == 0) || p.whole_cache || p.has_leftpad || p.has_batch_idx ||
      p.seqlen_new != 0 || p.rotary_dim != 0 || (p.alignment != 0 && p.alignment < 16) || p.row_stride != 0 ||
      p.backwards)
    throw InputError(
        fmt::format("'{}' is for `rapt explain` only: tensors can be made for packed lengths in host "
                    "memory, paged caches and compact rows",
                    problem.text()));
}

}  // namespace

Attention make_inputs(const Problem& problem, InputKind kind, uint64_t seed, Layout layout) {
  require_makeable(problem);
  Attention a;
  static_cast<MadeTensors&>(a) = make_tensors(problem.c(), kind, seed, {.layout = layout});
  set_options(a.options, problem, seed);
  a.seed = seed;
  return a;
}

int64_t input_bytes(const Problem& problem) {
  const rapt_problem p = problem.c();
  const int64_t q_rows = p.batch * p.heads_q * p.seqlen_q, k_rows = p.batch * p.heads_k * p.seqlen_k;
  int64_t elements = (q_rows + k_rows) * (p.head_dim + p.head_dim_v);
  if (p.has_bias) elements += scores(p, p.bias_shape);
  int64_t bytes = elements * bytes_of(p.dtype);
  if (p.has_mask) bytes += scores(p, p.mask_shape);
  return bytes;
}

}  // namespace rapt::cli
