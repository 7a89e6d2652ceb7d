// Rotary embedding (Su et al., "RoFormer", 2021), and new keys and values written to a cache.
#pragma once

#include "kernels/common/split.hpp"
#include "kernels/common/scores.hpp"

namespace rapt::RAPT_VENDOR {

// Element x of a row, rotated for a position: the pair (a, b) becomes (a cos - b sin, b cos + a sin).
template <class T>
DEVICE typename T::element rotated(SplitArguments& a, const char* row, int x, int position) {
  using element = typename T::element;
  constexpr int size = sizeof(element);
  const auto at = [&](int i) { return load_unaligned<element, size>(row + i * size); };
  const auto& n = a.new_keys;
  if (x >= n.rotary_dim) return at(x);
  const int half = n.rotary_dim / 2, pair = n.interleaved ? x / 2 : x < half ? x : x - half;
  const bool first = n.interleaved ? x % 2 == 0 : x < half;
  const int partner = n.interleaved ? x ^ 1 : first ? x + half : x - half;
  const int table_row = clamp(position, 0, n.positions - 1), bytes = n.rotary_dtype == RAPT_ABI_FP32 ? 4 : 2;
  const auto table = [&](const auto& t) {
    return load_as_float(static_cast<const char*>(t.data) + table_row * t.position + pair * bytes, n.rotary_dtype);
  };
  // In float64, where the products are exact: the same bits as on the CPU.
  const double cos = table(n.cos), sin = table(n.sin), own = T::to_float(at(x)), other = T::to_float(at(partner));
  return T::round(static_cast<float>(own * cos + other * (first ? -sin : sin)));
}

// The tile's rows of q, rotated if the call asks for it: element x of row r to place(r, x), an address in shared
// memory. Rows and dimensions that do not exist become zeros. A barrier must follow. `thread` is thread_id().
template <class T, int Dims, int Threads, class Place>
DEVICE void stage_q(SplitArguments& a, const SplitBlock& b, int thread, Place place) {
  using element = typename T::element;
  const int advances = a.new_keys.advances;
#pragma unroll 4
  for (int n = thread; n < kQueryRows * Dims; n += Threads) {
    const int row = n / Dims, x = n % Dims;
    const SplitRow r = split_row(a, b, row);
    element value = {};
    if (r.query < b.q.count && x < a.problem.head_dim) {
      const char* const q = first_row_of(a.q, b.batch, b.q, r.head) + r.query * a.q.seq;
      value = rotated<T>(a, q, x, b.used + (advances ? r.query : 0));
    }
    *reinterpret_cast<element*>(place(row, x)) = value;
  }
}

// Writes the new keys and values whose rows of the cache are in [begin, end). Several workgroups may write the same
// row: they write the same bytes, and each reads only after its own. A global_barrier() must follow.
template <class T, int Threads>
DEVICE void append(SplitArguments& a, const SplitBlock& b, int thread, const CacheRows& k, const CacheRows& v,
                   int begin, int end) {
  using element = typename T::element;
  constexpr int size = sizeof(element);
  const int first = max(begin, b.used), last = min(end, b.used + a.new_keys.seqlen);
  const auto put = [](char* row, int x, element value) { *reinterpret_cast<element*>(row + x * size) = value; };
#pragma unroll 1
  for (int row = first; row < last; ++row) {
    const auto new_row = [&](const auto& rows) {
      return static_cast<const char*>(rows.data) + b.batch * rows.batch + (row - b.used) * rows.seq +
             b.head_k * rows.head;
    };
    const char *const from_k = new_row(a.new_keys.k), *const from_v = new_row(a.new_keys.v);
    char *const to_k = k.group(row / kRowGroup) + row * k.seq, *const to_v = v.group(row / kRowGroup) + row * v.seq;
    for (int x = thread; x < a.problem.head_dim; x += Threads) put(to_k, x, rotated<T>(a, from_k, x, row));
    for (int x = thread; x < a.problem.head_dim_v; x += Threads)
      put(to_v, x, load_unaligned<element, size>(from_v + x * size));
  }
}

}  // namespace rapt::RAPT_VENDOR
