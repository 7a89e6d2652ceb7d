#include "aotriton/call/attention.hpp"

namespace rapt::aot {

void Attention::set_lengths() {
  packed_ = static_cast<bool>(call_.cu_seqlens_q);
  batch_ = static_cast<int64_t>(call_.q.size(0));
  seqlen_q_ = static_cast<int64_t>(call_.q.size(2));
  seqlen_k_ = static_cast<int64_t>(call_.k.size(2));
  if (!packed_) return;
  batch_ = static_cast<int64_t>(call_.cu_seqlens_q.size(0)) - 1;
  seqlen_q_ = call_.max_seqlen_q;
  seqlen_k_ = call_.max_seqlen_k;
  cu_seqlens_q_.set_lengths(call_.cu_seqlens_q, place());
  if (call_.cu_seqlens_k) cu_seqlens_k_.set_lengths(call_.cu_seqlens_k, place());
  varlen_.cu_seqlens_q = cu_seqlens_q_.c();
  varlen_.cu_seqlens_k = cu_seqlens_k_.c();
  varlen_.max_seqlen_q = seqlen_q_;
  varlen_.max_seqlen_k = seqlen_k_;
  c_.varlen = &varlen_;
}

void Attention::set_dropout() {
  if (!(call_.dropout > 0)) return;
  dropout_.probability = static_cast<double>(call_.dropout);
  dropout_.seed = call_.seed.value;
  dropout_.offset = call_.offset.value;
  if (call_.seed.data != nullptr) seed_.set_number(call_.seed.data, place());
  if (call_.offset.data != nullptr) offset_.set_number(call_.offset.data, place());
  dropout_.seed_tensor = seed_.c();
  dropout_.offset_tensor = offset_.c();
  c_.dropout = &dropout_;
}

Error Attention::prepare(bool deterministic) {
  set_lengths();
  q_.set_rows(call_.q, place(), packed_);
  k_.set_rows(call_.k, place(), packed_);
  v_.set_rows(call_.v, place(), packed_);
  if (given(call_.bias)) bias_.set_scores(call_.bias, place());
  c_.q = q_.c();
  c_.k = k_.c();
  c_.v = v_.c();
  c_.bias = bias_.c();
  scale_ = static_cast<double>(call_.scale);
  c_.softmax_scale = &scale_;
  if (const Error e = find_mask(call_.window, seqlen_q_, seqlen_k_, packed_, mask_)) return e;
  c_.causal = mask_.causal;
  if (mask_.windowed()) {
    window_.left = mask_.left;
    window_.right = mask_.right;
    window_.top_left = mask_.top_left;
    c_.window = &window_;
  }
  execution_.stream = call_.stream;
  execution_.deterministic = deterministic;
  set_dropout();
  return aotriton::kSuccess;
}

}  // namespace rapt::aot
