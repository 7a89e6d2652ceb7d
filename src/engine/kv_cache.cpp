#include "engine/kv_cache.hpp"

#include <cstring>

#include "problem/with_type.hpp"

namespace rapt {

namespace {

template <class T>
double read(const T& x) {
  if constexpr (sizeof(T) == 2) return static_cast<float>(x);
  else return x;
}

template <class T>
void write(T& x, double value) {
  if constexpr (sizeof(T) == 2) x = T(static_cast<float>(value));
  else x = static_cast<T>(value);
}

// RoPE (Su et al., "RoFormer", 2021) of one row: the pair (a, b) becomes (a cos - b sin, a sin + b cos).
template <class T>
void rotate_row(const ForwardCall& call, int64_t position, const T* in, T* out) {
  const NewKeys& rotary = call.new_keys;
  const int64_t half = call.rotary_dim / 2;
  for (int64_t x = 0; x < half; ++x) {
    const auto table = [&](const char* data, int64_t row) {
      return with_type(rotary.rotary_dtype, [&]<class E>(std::type_identity<E>) {
        return read(reinterpret_cast<const E*>(data)[position * row + x]);
      });
    };
    const double c = table(rotary.cos, rotary.cos_row), s = table(rotary.sin, rotary.sin_row);
    const int64_t first = call.rotary_interleaved ? 2 * x : x;
    const int64_t second = call.rotary_interleaved ? 2 * x + 1 : x + half;
    const double a = read(in[first]), b = read(in[second]);
    write(out[first], a * c - b * s);
    write(out[second], a * s + b * c);
  }
  for (int64_t x = call.rotary_dim; x < call.head_dim; ++x) out[x] = in[x];
}

template <class T>
void append(const ForwardCall& call) {
  const NewKeys& fresh = call.new_keys;
  for (int64_t b = 0; b < call.batch; ++b) {
    const Sequence s = sequence(call, b);
    for (int64_t i = 0; i < call.seqlen_new; ++i) {
      const int64_t position = call.seqused_k[b] + i;
      for (int64_t h = 0; h < call.heads_k; ++h) {
        const T* k = reinterpret_cast<const T*>(fresh.k.data) + b * fresh.k.batch + i * fresh.k.seq + h * fresh.k.head;
        const T* v = reinterpret_cast<const T*>(fresh.v.data) + b * fresh.v.batch + i * fresh.v.seq + h * fresh.v.head;
        T* to_k = reinterpret_cast<T*>(call.k.data) + key_offset(call, call.k, s, position - s.first_k, h);
        T* to_v = reinterpret_cast<T*>(call.v.data) + key_offset(call, call.v, s, position - s.first_k, h);
        if (call.rotary_dim > 0) rotate_row(call, position, k, to_k);
        else std::memcpy(to_k, k, static_cast<size_t>(call.head_dim) * sizeof(T));
        std::memcpy(to_v, v, static_cast<size_t>(call.head_dim_v) * sizeof(T));
      }
    }
  }
}

template <class T>
void rotate_q(ForwardCall& call, char* workspace) {
  View rotated = {workspace, call.seqlen_q * call.heads_q * call.head_dim, call.heads_q * call.head_dim, call.head_dim};
  if (call.cu_seqlens_q) rotated.batch = 0;
  // As in flash-attn: without causality or a window, every query has the position of the first new key.
  const bool advances = call.window_left >= 0 || call.window_right >= 0;
  for (int64_t b = 0; b < call.batch; ++b) {
    const Sequence s = sequence(call, b);
    for (int64_t i = 0; i < s.seqlen_q; ++i)
      for (int64_t h = 0; h < call.heads_q; ++h)
        rotate_row(call, call.seqused_k[b] + (advances ? i : 0),
                   reinterpret_cast<const T*>(call.q.data) + query_offset(call.q, s, i, h),
                   reinterpret_cast<T*>(workspace) + query_offset(rotated, s, i, h));
  }
  call.q = rotated;
}

template <class T>
void prepare(ForwardCall& call, char* workspace) {
  if (call.seqlen_new > 0) append<T>(call);
  if (call.rotary_dim > 0) rotate_q<T>(call, workspace);
}

}  // namespace

size_t rotated_q_bytes(const Call& call) {
  if (call.rotary_dim == 0) return 0;
  const int64_t rows = call.cu_seqlens_q ? call.total_q : call.batch * call.seqlen_q;
  return static_cast<size_t>((rows * call.heads_q * call.head_dim * dtype_bytes(call.dtype) + 63) / 64 * 64);
}

void prepare_cache(ForwardCall& call, char* workspace) {
  with_type(call.dtype, [&]<class T>(std::type_identity<T>) { prepare<T>(call, workspace); });
}

}  // namespace rapt
