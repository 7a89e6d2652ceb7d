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

int64_t Attention::bytes() const {
  int64_t total = q.bytes() + k.bytes() + v.bytes();
  for (const auto* a : {&bias, &mask, &alibi_slopes, &sink, &cu_seqlens_q, &cu_seqlens_k, &seqused_k, &block_table})
    if (*a) total += (*a)->bytes();
  return total;
}

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

const rapt_tensor* AttentionView::keep(const Array& array) {
  tensors_[used_] = array.tensor();
  return &tensors_[used_++];
}

AttentionView::AttentionView(const Attention& from) {
  attention_.q = keep(from.q);
  attention_.k = keep(from.k);
  attention_.v = keep(from.v);
  attention_.bias = keep(from.bias);
  attention_.mask = keep(from.mask);
  attention_.alibi_slopes = keep(from.alibi_slopes);
  attention_.sink = keep(from.sink);
  attention_.causal = from.causal;
  attention_.softcap = from.softcap;
  if (from.scale) {
    scale_ = *from.scale;
    attention_.softmax_scale = &scale_;
  }
  if (from.window) {
    window_.left = from.window->first;
    window_.right = from.window->second;
    attention_.window = &window_;
  }
  if (from.dropout != 0) {
    dropout_.probability = from.dropout;
    dropout_.seed = from.seed;
    attention_.dropout = &dropout_;
  }
  if (from.packed()) {
    varlen_.cu_seqlens_q = keep(from.cu_seqlens_q);
    varlen_.cu_seqlens_k = keep(from.cu_seqlens_k);
    attention_.varlen = &varlen_;
  }
  if (from.block_table) {
    cache_.seqused_k = keep(from.seqused_k);
    cache_.block_table = keep(from.block_table);
    attention_.kv_cache = &cache_;
  }
}

}  // namespace rapt::cli
