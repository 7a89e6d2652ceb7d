#include "aotriton/call/attention.hpp"

#include <utility>

#include "aotriton/base/failure.hpp"

namespace rapt::aot {

Error Attention::set_lengths() {
  using namespace aotriton::v3::flash;
  packed_ = static_cast<bool>(call_.cu_seqlens_q);
  batch_ = static_cast<int64_t>(call_.q.size(0));
  seqlen_q_ = static_cast<int64_t>(call_.q.size(2));
  seqlen_k_ = static_cast<int64_t>(call_.k.size(2));
  if (!packed_) return aotriton::kSuccess;
  if (call_.varlen < kDense || call_.varlen > kStrided)
    return fail(aotriton::kNotSupported, "varlen_type is %d, must be 0 to 3", call_.varlen);
  if (call_.varlen == kStrided && !call_.starts_q)
    return fail(aotriton::kInvalidValue, "seq_strides_q is null, must be given with varlen_type 3 (strided)");
  for (const auto& [name, t] : {std::pair{"q", &call_.q}, {"k", &call_.k}, {"v", &call_.v}})
    if (*t && t->size(0) != 1)
      return fail(aotriton::kInvalidValue, "%s has batch %llu, must be 1 with cu_seqlens_q", name,
                  static_cast<unsigned long long>(t->size(0)));
  batch_ = static_cast<int64_t>(call_.cu_seqlens_q.size(0)) - 1;
  seqlen_q_ = call_.max_seqlen_q;
  seqlen_k_ = call_.max_seqlen_k;
  cu_seqlens_q_.set_lengths(call_.cu_seqlens_q, place());
  if (call_.cu_seqlens_k) cu_seqlens_k_.set_lengths(call_.cu_seqlens_k, place());
  varlen_.cu_seqlens_q = cu_seqlens_q_.c();
  varlen_.cu_seqlens_k = cu_seqlens_k_.c();
  // Rapt takes 0 only if there are no rows. Padded and strided sequences without rows may still lie among other rows.
  const int64_t least = call_.padded() || call_.strided() ? 1 : 0;
  varlen_.max_seqlen_q = seqlen_q_ == 0 ? least : seqlen_q_;
  varlen_.max_seqlen_k = seqlen_k_ == 0 ? least : seqlen_k_;
  c_.varlen = &varlen_;
  return aotriton::kSuccess;
}

Error Attention::set_dropout() {
  if (call_.dropout == 0) return aotriton::kSuccess;
  if (call_.seed_in_memory && call_.seed.data == nullptr)
    return fail(aotriton::kInvalidValue, "philox_seed is null, must be given with dropout");
  dropout_.probability = static_cast<double>(call_.dropout);
  dropout_.seed = call_.seed.value;
  dropout_.offset = call_.offset.value;
  if (call_.seed.data != nullptr) seed_.set_number(call_.seed.data, place());
  if (call_.offset.data != nullptr) offset_.set_number(call_.offset.data, place());
  dropout_.seed_tensor = seed_.c();
  dropout_.offset_tensor = offset_.c();
  c_.dropout = &dropout_;
  return aotriton::kSuccess;
}

Error Attention::prepare(bool deterministic) {
  if (const Error e = set_lengths()) return e;
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
  if (const Error e = find_mask(call_, seqlen_q_, seqlen_k_, packed_, mask_)) return e;
  c_.causal = mask_.causal;
  if (mask_.windowed()) {
    window_.left = mask_.left;
    window_.right = mask_.right;
    window_.top_left = mask_.top_left;
    c_.window = &window_;
  }
  execution_.stream = call_.stream;
  execution_.deterministic = deterministic;
  return set_dropout();
}

}  // namespace rapt::aot
