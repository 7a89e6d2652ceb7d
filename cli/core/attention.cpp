#include "cli/core/attention.hpp"

#include "cli/core/dtype.hpp"

namespace rapt::cli {

namespace {

std::optional<Array> copy(const std::optional<Array>& a) {
  return a ? std::optional(a->converted(a->dtype())) : std::nullopt;
}

}  // namespace

int64_t Attention::batch() const { return packed() ? cu_seqlens_q->count() - 1 : q.shape()[0]; }

std::vector<int64_t> Attention::lse_shape() const {
  if (packed()) return {heads_q(), q.shape()[0]};
  return {q.shape()[0], heads_q(), q.shape()[1]};
}

rapt_dtype Attention::lse_dtype() const { return same(q.dtype(), kFp64) ? kFp64 : kFp32; }

Attention Attention::converted(rapt_dtype dtype) const {
  Attention r;
  r.q = q.converted(dtype);
  r.k = k.converted(dtype);
  r.v = v.converted(dtype);
  if (bias) r.bias = bias->converted(dtype);
  if (sink) r.sink = sink->converted(dtype);
  r.mask = copy(mask);
  r.alibi_slopes = copy(alibi_slopes);
  r.cu_seqlens_q = copy(cu_seqlens_q);
  r.cu_seqlens_k = copy(cu_seqlens_k);
  r.seqused_k = copy(seqused_k);
  r.block_table = copy(block_table);
  r.scale = scale;
  r.causal = causal;
  r.softcap = softcap;
  r.window = window;
  r.dropout = dropout;
  r.seed = seed;
  return r;
}

rapt::Attention Attention::view() const {
  rapt::Attention r{.q = q.tensor(), .k = k.tensor(), .v = v.tensor()};
  r.softmax_scale = scale;
  r.causal = causal;
  r.softcap = softcap;
  r.window = window;
  r.bias = tensor_of(bias);
  r.mask = tensor_of(mask);
  r.alibi_slopes = tensor_of(alibi_slopes);
  r.sink = tensor_of(sink);
  if (dropout != 0) r.dropout = Dropout{.probability = dropout, .seed = seed};
  if (packed()) r.varlen = Varlen{.cu_seqlens_q = tensor_of(cu_seqlens_q), .cu_seqlens_k = tensor_of(cu_seqlens_k)};
  if (block_table) r.kv_cache = KvCache{.seqused_k = tensor_of(seqused_k), .block_table = tensor_of(block_table)};
  return r;
}

}  // namespace rapt::cli
