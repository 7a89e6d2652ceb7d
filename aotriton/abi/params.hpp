// The structs that callers pass to attn_fwd and attn_bwd of AOTriton's v3 interface, one for each params_version.
// Fields are in AOTriton's order; tests/aotriton/interface/table.txt has their offsets.
#pragma once

#include <algorithm>

#include "aotriton/abi/types.hpp"

namespace aotriton::v3::flash {

enum Causal : int8_t { kNotCausal = 0, kWindow = 3 };
enum Varlen : int8_t { kDense = 0, kCompact = 1, kPadded = 2, kStrided = 3 };

// Windows that every sequence resolves by its own lengths: causal, aligned with its first or its last key.
inline constexpr int32_t kTopLeft = -2147483647, kBottomRight = -2147483646;

// Forward. 1: AOTriton 0.10 and 0.11.
struct ForwardParams1 {
  T4 q, k, v, bias;
  T2 alibi;
  float scale;
  T2 lse;
  T4 out;
  T1 cu_seqlens_q, cu_seqlens_k;
  int32_t max_seqlen_q, max_seqlen_k;
  float dropout;
  T0 seed, offset1;
  uint64_t offset2;
  T0 seed_output, offset_output;
  T4 encoded_softmax;
  T0 counter;
  Causal causal;
  Varlen varlen;
  int32_t window_left, window_right;
};

// 3: 0.12 and 0.13.
struct ForwardParams3 {
  T4 q, k, v, bias;
  T2 alibi;
  float scale;
  T2 lse;
  T4 out;
  T1 cu_seqlens_q, cu_seqlens_k;
  int32_t max_seqlen_q, max_seqlen_k;
  T1 starts_q, starts_k;
  float dropout;
  T0 seed, offset1;
  uint64_t offset2;
  T0 seed_output, offset_output;
  T4 encoded_softmax;
  T0 counter;
  Causal causal;
  Varlen varlen;
  int32_t window_left, window_right;
};

// 4: 0.14. Its size is that of version 3.
struct ForwardParams4 {
  T4 q, k, v, bias;
  T2 alibi;
  float scale;
  T2 lse;
  T4 out;
  T1 lengths_q, lengths_k;
  int32_t max_seqlen_q, max_seqlen_k;
  T1 positions_q, positions_k;
  float dropout;
  T0 seed, offset1;
  uint64_t offset2;
  T0 seed_output, offset_output;
  T4 encoded_softmax;
  T0 counter;
  Causal causal;
  int32_t window_left, window_right;
  uint32_t varlen_bits;
};

// Memory that a callee may ask the caller for, by `acquire`; Rapt never asks.
template <int Rank>
struct LazyTensor3 {
  void* cookie;
  TensorView<Rank> (*acquire)(void* cookie);
  void (*dispose)(void* cookie);
};
template <int Rank>
struct LazyTensor6 {
  void* cookie;
  TensorView<Rank> (*acquire)(LazyTensor6* self);
  void (*dispose)(LazyTensor6* self);
  TensorView<Rank> eager;
};

// Backward. 1: 0.10.
struct BackwardParams1 {
  T4 q, k, v, bias;
  float scale;
  T4 out, dout, dk, dv, dq, dbias;
  T2 lse, delta;
  T1 cu_seqlens_q, cu_seqlens_k;
  int32_t max_seqlen_q, max_seqlen_k;
  float dropout;
  T0 seed, offset1;
  uint64_t offset2;
  Causal causal;
  Varlen varlen;
  int32_t window_left, window_right;
};

// 3: 0.11.
struct BackwardParams3 {
  T4 q, k, v, bias;
  float scale;
  T4 out, dout, dk, dv, dq, dbias;
  T2 lse;
  LazyTensor3<2> delta;
  T1 cu_seqlens_q, cu_seqlens_k;
  int32_t max_seqlen_q, max_seqlen_k;
  float dropout;
  T0 seed, offset1;
  uint64_t offset2;
  Causal causal;
  Varlen varlen;
  int32_t window_left, window_right;
  LazyTensor3<4> dq_sum;
};

// 6: 0.12 and 0.13.
struct BackwardParams6 {
  T4 q, k, v, bias;
  float scale;
  T4 out, dout, dk, dv, dq, dbias;
  T2 lse;
  LazyTensor6<2> delta;
  T1 cu_seqlens_q, cu_seqlens_k;
  int32_t max_seqlen_q, max_seqlen_k;
  T1 starts_q, starts_k;
  float dropout;
  T0 seed, offset1;
  uint64_t offset2;
  Causal causal;
  Varlen varlen;
  int32_t window_left, window_right;
  LazyTensor6<4> dq_sum;
};

// 7: 0.14.
struct BackwardParams7 {
  T4 q, k, v, bias;
  float scale;
  T4 out, dout, dk, dv, dq, dbias;
  T2 lse;
  LazyTensor6<2> delta;
  T1 lengths_q, lengths_k;
  int32_t max_seqlen_q, max_seqlen_k;
  T1 positions_q, positions_k;
  float dropout;
  T0 seed, offset1;
  uint64_t offset2;
  Causal causal;
  int32_t window_left, window_right;
  LazyTensor6<4> dq_sum;
  uint32_t varlen_bits;
};

// The values of 0.14's varlen_bits that Rapt takes. The lowest byte describes q's sequences, the next byte k's.
//    1  the sequences are one after another
//    2  their lengths are differences of sums
//    4  an array has their lengths
//    8  the sums are their positions too
//   16  an array has their positions
// The last value is for caches: k's lengths are its used keys.
enum VarlenBits : uint32_t {
  kDenseBits = 0,
  kCompactBits = 0x0b0b,
  kPaddedBits = 0x0202,
  kStridedBits = 0x1313,
  kUsedKeysBits = 0x150b
};

// The struct that callers construct. Its constructor cannot know the version, so it sets the fields of every version. A
// field of only some versions is set by every caller, or read only where lengths are given.
struct attn_fwd_params {
  attn_fwd_params();
  char every_version[std::min(sizeof(ForwardParams1), sizeof(ForwardParams3))];
};
struct attn_bwd_params {
  attn_bwd_params();
  char every_version[std::min({sizeof(BackwardParams1), sizeof(BackwardParams3), sizeof(BackwardParams6)})];
};

// 0.10 has an empty struct, 0.11 only the first field.
struct attn_options {
  int32_t backend;
  bool deterministic;
};

}  // namespace aotriton::v3::flash
