// The memory of one decode task, and the walk through K and V that keeps the next block of keys on its way.
#pragma once

#include "cpu/forward_tile.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kDecodeRows = 16;
inline constexpr int64_t kDecodeKeys = 256;
inline constexpr int64_t kDecodeTile = 8;  // keys whose products are made together
inline constexpr int64_t kMostDecodeHeads = 32;
inline constexpr int64_t kDecodeBlockBytes = 64
                                             << 10;  // of K and V: with the next block, what is asked for ahead, in L2

// Key heads that lie side by side in a row of the cache are read together, so that memory is read in its own order.
inline int64_t decode_heads(const Call& call) {
  const auto in_a_row = [&](const View& view, int64_t dim) {
    return view.head <= dim * 2 && view.seq >= view.head * call.heads_k;
  };
  const bool side_by_side = in_a_row(call.k, call.head_dim) && in_a_row(call.v, call.head_dim_v);
  int64_t heads = side_by_side ? std::min(call.heads_k, kMostDecodeHeads) : 1;
  while (call.heads_k % heads != 0) --heads;
  return heads;
}

inline int64_t decode_keys(const Call& call) {
  const int64_t row = decode_heads(call) * (call.head_dim + call.head_dim_v) * dtype_bytes(call.dtype);
  return std::clamp<int64_t>(kDecodeBlockBytes / row / kLanes * kLanes, kLanes, kDecodeKeys);
}

// Output rows are whole pairs of vectors: bf16 keeps their lanes in the order that unpacking gives.
inline int64_t decode_out_row(const Call& call) {
  return (padded(call.head_dim_v) + kLanes) / (2 * kLanes) * 2 * kLanes;
}

struct DecodeScratch {
  float *q, *o, *m, *l;  // of each head; m and l of each row as many as the keys of a vector of scores
  float* scores;         // DecodeRows' layout
  Bf16* narrow;          // the same as bf16, where P V is a product of pairs
  char* copies;          // of a tile's keys, where head_dim is no whole number of chunks
  bool* excluded;        // as scores
  const char** rows[2];  // the first head's, of this block and the next: [K, V][keys]

  DecodeScratch(const Call& call, Scratch& carve) {
    const int64_t heads = decode_heads(call);
    q = carve.take<float>(heads * kDecodeRows * padded(call.head_dim));
    o = carve.take<float>(heads * kDecodeRows * decode_out_row(call));
    m = carve.take<float>(heads * kDecodeRows * kLanes);
    l = carve.take<float>(heads * kDecodeRows * kLanes);
    scores = carve.take<float>(kDecodeRows * kDecodeKeys);
    narrow = carve.take<Bf16>(kDecodeRows * kDecodeKeys);
    copies = carve.take<char>(kDecodeTile * (padded(call.head_dim) + kLanes) * dtype_bytes(call.dtype));
    excluded = carve.take<bool>(kDecodeRows * kDecodeKeys);
    for (const char**& table : rows) table = carve.take<const char*>(2 * decode_keys(call));
  }
};

// Asks for the next block's cache lines in the order of memory, a few at a time between the arithmetic on this block:
// all at once they would wait for each other, and the arithmetic for them. Loops work on a copy, which stays in
// registers.
class DecodeAhead {
 public:
  // rows: of K, then as many of V; a row of all heads covers k_bytes or v_bytes.
  DecodeAhead(const char* const* rows, int64_t count, int64_t heads, int64_t k_bytes, int64_t v_bytes)
      : row_(rows),
        values_(rows + count),
        end_(rows + 2 * count),
        bytes_(k_bytes),
        v_bytes_(v_bytes),
        piece_(lines_of_head(k_bytes, heads)),
        v_piece_(lines_of_head(v_bytes, heads)) {}

  RAPT_INLINE void line() {
    if (row_ == end_) return;
    prefetch_far(*row_ + at_);
    at_ += 64;
    pass_row();
  }
  template <int kCount>
  RAPT_INLINE void lines() {
    RAPT_UNROLL for (int i = 0; i < kCount; ++i) line();
  }
  // One head's share of a row.
  RAPT_INLINE void head() {
    if (row_ == end_) return;
    const char* const row = *row_;
    const int64_t stop = std::min(at_ + piece_, bytes_);
    for (; at_ < stop; at_ += 64) prefetch_far(row + at_);
    pass_row();
  }

 private:
  static int64_t lines_of_head(int64_t bytes, int64_t heads) { return (bytes + 64 * heads - 1) / (64 * heads) * 64; }

  RAPT_INLINE void pass_row() {
    if (at_ < bytes_) return;
    at_ = 0;
    if (++row_ != values_) return;
    bytes_ = v_bytes_;
    piece_ = v_piece_;
  }

  const char* const* row_;
  const char* const* values_;
  const char* const* end_;
  int64_t at_ = 0, bytes_, v_bytes_, piece_, v_piece_;
};

}  // namespace rapt::cpu::RAPT_TIER
