// One validated attention call: a problem and its tensors. Backends read it without further checks. All strides are in
// elements. Plain data, so that building one takes nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>

#include "problem/problem.hpp"

namespace rapt {

// Element (b, s, h, x) is at data + (b * batch + s * seq + h * head + x) elements.
struct View {
  char* data = nullptr;
  int64_t batch = 0, seq = 0, head = 0;
  explicit operator bool() const { return data != nullptr; }
};

// [batch, heads_q, seqlen_q, seqlen_k]; a broadcast dimension has stride 0.
struct ScoreView {
  char* data = nullptr;
  DType dtype = DType::fp32;  // of a bias; a mask has one byte per element
  int64_t batch = 0, head = 0, query = 0, key = 0;
  int64_t shape[4] = {};  // as the caller gave it
  explicit operator bool() const { return data != nullptr; }
};

struct HeadVector {  // [heads_q], or [batch, heads_q] if batch is not 0
  char* data = nullptr;
  DType dtype = DType::fp32;
  int64_t batch = 0, head = 0;
  explicit operator bool() const { return data != nullptr; }
};

struct LseView {  // [batch, heads_q, seqlen_q]; packed: batch 0, [heads_q, total_q]. fp32, fp64 if the call is fp64
  char* data = nullptr;
  int64_t batch = 0, head = 0, query = 0;
  explicit operator bool() const { return data != nullptr; }
};

struct NewKeys {  // appended to the cache, and rotary embedding; the engine does both before a backend runs
  View k, v;
  const char* cos = nullptr;  // [positions, rotary_dim / 2]
  const char* sin = nullptr;
  DType rotary_dtype = DType::fp32;
  int64_t cos_row = 0, sin_row = 0;
  int64_t positions = 0;  // of cos and sin
};

// From the problem. Causality is folded into the window: window_right is then 0.
struct Call : Problem {
  rapt_device device = {RAPT_CPU, 0};
  double scale = 1;  // softmax_scale, or its default

  View q, k, v;
  ScoreView bias, mask;
  HeadVector alibi, sink;
  // If no number is in device memory, the seed is already Philox's key and the offset is below 2^32.
  uint64_t dropout_seed = 0, dropout_offset = 0;
  const int32_t* dropout_seed_data = nullptr;  // a number in device memory, as two halves, to be added
  const int32_t* dropout_offset_data = nullptr;

  const int32_t* cu_seqlens_q = nullptr;  // q is packed
  const int32_t* cu_seqlens_k = nullptr;  // k and v are packed
  bool check_lengths = false;             // copy lengths from device memory and validate them
  int64_t capacity = 0;                   // rows of the cache per sequence, all in use if there is no seqused_k
  int64_t cache_batches = 0;              // cache rows, or pages
  const int32_t* seqused_k = nullptr;     // rows of the cache in use, before seqlen_new more
  const int32_t* cache_batch_idx = nullptr;
  const int32_t* leftpad_k = nullptr;
  const int32_t* block_table = nullptr;  // then k.batch strides over pages
  int64_t block_table_row = 0;
  NewKeys new_keys;
};

struct ForwardCall : Call {
  View out;
  LseView lse;
};

struct BackwardCall : Call {
  View out, dout;
  LseView lse;
  View dq, dk, dv;
  ScoreView dbias;
  HeadVector dsink;
};

// One sequence of the batch: its lengths, and where its rows begin.
struct Sequence {
  int64_t index;
  int64_t seqlen_q, seqlen_k;
  int64_t first_q;   // row of q, out, lse
  int64_t first_k;   // row of k and v
  int64_t batch_q;   // batch index of q, out, lse: 0 when packed
  int64_t batch_k;   // of k and v: 0 when packed or paged
  int64_t diagonal;  // off: query i is aligned with key i + diagonal

  // Keys that query i may attend by causality and window: [key_begin(i), key_end(i)).
  int64_t key_begin(const Call& call, int64_t i) const {
    return call.window_left < 0 ? 0 : std::clamp<int64_t>(i + diagonal - call.window_left, 0, seqlen_k);
  }
  int64_t key_end(const Call& call, int64_t i) const {
    return call.window_right < 0 ? seqlen_k : std::clamp<int64_t>(i + diagonal + call.window_right + 1, 0, seqlen_k);
  }
};

inline Sequence sequence(const Call& call, int64_t b) {
  Sequence s;
  s.index = b;
  const bool packed_q = call.cu_seqlens_q != nullptr, packed_k = call.cu_seqlens_k != nullptr;
  s.first_q = packed_q ? call.cu_seqlens_q[b] : 0;
  s.seqlen_q = packed_q ? call.cu_seqlens_q[b + 1] - s.first_q : call.seqlen_q;
  s.batch_q = packed_q ? 0 : b;
  if (packed_k) {
    s.first_k = call.cu_seqlens_k[b];
    s.seqlen_k = call.cu_seqlens_k[b + 1] - s.first_k;
    s.batch_k = 0;
  } else if (call.has_cache) {
    s.first_k = call.leftpad_k ? call.leftpad_k[b] : 0;
    const int64_t used = call.seqused_k ? call.seqused_k[b] + call.seqlen_new : call.capacity;
    s.seqlen_k = std::max<int64_t>(used - s.first_k, 0);
    s.batch_k = call.block_table ? 0 : call.cache_batch_idx ? call.cache_batch_idx[b] : b;
  } else {
    s.first_k = 0;
    s.seqlen_k = call.seqlen_k;
    s.batch_k = b;
  }
  s.diagonal = call.diagonal(s.seqlen_q, s.seqlen_k);
  return s;
}

// Element offset of row j (0 <= j < seqlen_k) of head h of k or v.
inline int64_t key_offset(const Call& call, const View& view, const Sequence& s, int64_t j, int64_t h) {
  int64_t row = s.first_k + j, batch = s.batch_k;
  if (call.block_table) {
    batch = call.block_table[s.index * call.block_table_row + row / call.page];
    row %= call.page;
  }
  return batch * view.batch + row * view.seq + h * view.head;
}

inline int64_t query_offset(const View& view, const Sequence& s, int64_t i, int64_t h) {
  return s.batch_q * view.batch + (s.first_q + i) * view.seq + h * view.head;
}

inline int64_t lse_offset(const LseView& lse, const Sequence& s, int64_t i, int64_t h) {
  return s.batch_q * lse.batch + h * lse.head + (s.first_q + i) * lse.query;
}

// Checks lengths, pages and cache rows copied from device memory, where validate() could not read them. The call points
// to the copies. Throws Error.
void validate_lengths(Call call);

// Checks everything and fills a call; throws Error with every violation, before anything is written.
ForwardCall validate(const rapt_forward_call& call);
BackwardCall validate(const rapt_backward_call& call);

}  // namespace rapt
