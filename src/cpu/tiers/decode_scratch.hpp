// The memory of one decode task, and the prefetch of the next block of K and V.
#pragma once

#include "cpu/tiers/forward_tile.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kDecodeRows = 16;
inline constexpr int64_t kDecodeKeys = 256;
inline constexpr int64_t kDecodeTile = 8;  // keys whose products are computed together
inline constexpr int64_t kMostDecodeHeads = 32;
inline constexpr int64_t kDecodeBlockBytes = 64 << 10;  // of K and V: with the next block, in L2
// Prefetch distance of rows that are read once, in memory order: covers the latency of memory. Other rows are
// prefetched one block ahead.
inline constexpr int64_t kDecodeLead = 6 << 10;  // bytes

// Adjacent key heads in a row of the cache are read together, so that memory is read in order.
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
  float *q, *o, *m, *l;  // per head; a row has an m and an l for each key of a vector of scores
  float* scores;         // DecodeRows' layout
  Bf16* narrow;          // the same as bf16, where P V is a product of pairs
  char* copies;          // of a tile's keys, if head_dim is not a whole number of chunks
  float* operand;        // with tiles: 16 rows of K, or pairs of rows of V
  bool* excluded;        // as scores
  const char** rows;     // the first head's, of this block and the next: K, V, K, V

  DecodeScratch(const Call& call, Scratch& carve) {
    const int64_t heads = decode_heads(call);
    q = carve.take<float>(heads * kDecodeRows * padded(call.head_dim));
    o = carve.take<float>(heads * kDecodeRows * decode_out_row(call));
    m = carve.take<float>(heads * kDecodeRows * kLanes);
    l = carve.take<float>(heads * kDecodeRows * kLanes);
    scores = carve.take<float>(kDecodeRows * kDecodeKeys);
    narrow = carve.take<Bf16>(kDecodeRows * kDecodeKeys);
    copies = carve.take<char>(kDecodeTile * (padded(call.head_dim) + kLanes) * dtype_bytes(call.dtype));
    operand = carve.take<float>(kHasTiles ? kTileRows * std::max<int64_t>(padded(call.head_dim), 4 * kTileWords) : 0);
    excluded = carve.take<bool>(kDecodeRows * kDecodeKeys);
    rows = carve.take<const char*>(4 * decode_keys(call));
  }
};

// Vectors of this many bytes in a cache line, at least one.
constexpr int64_t vectors_of_line(int64_t bytes) { return bytes < 64 ? 64 / bytes : 1; }

// Prefetches cache lines ahead, in the order in which rows are read, one at a time between the arithmetic: in bursts
// they would wait for each other, and the arithmetic for them. Loops work on a copy, which stays in registers.
class DecodeAhead {
 public:
  // rows: K and V of this block, `count` each, then K and V of the next. The walk begins `lead` rows into them, at most
  // 2 * count, and ends as far into the next block's rows.
  DecodeAhead(const char* const* rows, int64_t count, int64_t after, int64_t lead, int64_t k_bytes, int64_t v_bytes)
      : row_(rows + lead), end_(rows + 2 * count + std::min(lead, 2 * after)), bytes_(k_bytes), other_bytes_(v_bytes) {
    const char* const* const turns[] = {rows + count, rows + 2 * count, rows + 2 * count + after};
    const int passed = lead < count ? 0 : lead < 2 * count ? 1 : 2;
    turn_ = turns[passed];
    then_ = turns[std::min(passed + 1, 2)];
    if (passed == 1) std::swap(bytes_, other_bytes_);
  }

  RAPT_INLINE void line() {
    if (row_ == end_) return;
    prefetch_far(*row_ + at_);
    at_ += 64;
    if (at_ < bytes_) return;
    at_ = 0;
    if (++row_ != turn_) return;
    std::swap(bytes_, other_bytes_);
    turn_ = then_;
  }
  template <int kCount>
  RAPT_INLINE void lines() {
    RAPT_UNROLL for (int i = 0; i < kCount; ++i) line();
  }

 private:
  const char* const* row_;
  const char* const* end_;
  const char* const* turn_;  // where the walk changes from rows of K to V, or back
  const char* const* then_;  // the turn after it
  int64_t at_ = 0, bytes_, other_bytes_;
};

}  // namespace rapt::cpu::RAPT_TIER
