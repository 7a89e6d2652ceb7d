// Rows of tensors as the micro-kernel reads them: 32-bit words, floats or (kDot) pairs of bf16 along head_dim.
#pragma once

#include <algorithm>
#include <type_traits>

#include "cpu/tiers/tiles.hpp"
#include "cpu/tiers/transpose.hpp"
#include "problem/call.hpp"

namespace rapt::cpu::RAPT_TIER {

// Whether products of T take pairs of bf16: in blocks of queries, and in decode. Processors with AMX have slow dot
// products of vectors.
template <class T>
inline constexpr bool kBlockDot = std::is_same_v<T, Bf16> && kHasBf16Dot;
template <class T>
inline constexpr bool kDecodeDot = kBlockDot<T> && !kHasTiles;

// Words a row of `dim` elements takes, and the same padded to whole vectors.
template <bool kDot>
constexpr int64_t words(int64_t dim) {
  return kDot ? (dim + 1) / 2 : dim;
}
constexpr int64_t padded(int64_t count) { return (count + kLanes - 1) / kLanes * kLanes; }

inline constexpr int64_t kFloatsOfLine = 16;  // of a cache line

// Words from one row of a scratch operand to the next. With AMX and with AVX2 an odd number of cache lines: rows of 512
// bytes would share an eighth of L1's sets. (Zen 4 with AVX-512 is up to 2 % slower so.)
constexpr int64_t apart(int64_t words) {
  return kHasTiles || kAvx2Only ? ((words + kFloatsOfLine - 1) / kFloatsOfLine | 1) * kFloatsOfLine : words;
}

// Words [w, w + kLanes) of a row; zeros past the row's end, where nothing is read.
template <bool kDot, class T>
RAPT_INLINE F load_words(const T* row, int64_t w, int64_t dim) {
  constexpr int64_t kElements = kDot ? 2 * kLanes : kLanes;
  const int64_t first = kDot ? 2 * w : w;
  T chunk[kElements];
  const T* from = row + first;
  if (first + kElements > dim) {
    std::memset(static_cast<void*>(chunk), 0, sizeof chunk);
    if (first < dim) std::memcpy(static_cast<void*>(chunk), row + first, static_cast<size_t>(dim - first) * sizeof(T));
    from = chunk;
  }
  if constexpr (kDot) {
    F v;
    std::memcpy(&v, from, sizeof v);
    return v;
  } else {
    return load_as_float(from);
  }
}

// Writes [w, min(w + kLanes, dim)) of a row.
template <class T>
RAPT_INLINE void store_elements(T* row, int64_t w, int64_t dim, F v) {
  if (w + kLanes <= dim) return store_from_float(row + w, v);
  T chunk[kLanes];
  store_from_float(chunk, v);
  std::memcpy(static_cast<void*>(row + w), chunk, static_cast<size_t>(dim - w) * sizeof(T));
}

// Copies rows into [count][padded words], converted to words.
template <bool kDot, class T>
RAPT_INLINE void copy_row(const T* row, int64_t dim, float* out) {
  const int64_t n = words<kDot>(dim);
  for (int64_t w = 0; w < n; w += kLanes) store(out + w, load_words<kDot>(row, w, dim));
}

// kLanes rows (null: zeros) into the lanes of [words][row].
template <bool kDot, class T>
inline void transpose_rows(const T* const* rows, int64_t dim, float* out, int64_t row) {
  const int64_t n = words<kDot>(dim);
  for (int64_t w = 0; w < n; w += kLanes) {
    F r[kLanes];
    for (int i = 0; i < kLanes; ++i) r[i] = rows[i] ? load_words<kDot>(rows[i], w, dim) : F{};
    transpose(r);
    const int64_t count = n - w < kLanes ? n - w : kLanes;
    for (int64_t i = 0; i < count; ++i) store(out + (w + i) * row, r[i]);
  }
}

// The way back: kLanes lanes of [dim][row] floats, times factor[lane], into rows (null: skipped).
template <class T>
inline void untranspose_rows(const float* in, int64_t row, F factor, int64_t dim, T* const* rows) {
  for (int64_t w = 0; w < dim; w += kLanes) {
    F r[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) r[i] = w + i < dim ? load(in + (w + i) * row) * factor : F{};
    transpose(r);
    for (int i = 0; i < kLanes; ++i)
      if (rows[i]) store_elements(rows[i], w, dim, r[i]);
  }
}

#if defined(__AVX512BF16__)
// Words (a[l], b[l]) of kLanes elements.
RAPT_INLINE F interleave(const Bf16* a, const Bf16* b) {
  const auto half = [](const Bf16* p) __attribute__((always_inline)) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  };
  return (F)_mm512_or_si512(half(a), _mm512_slli_epi32(half(b), 16));
}

// The same for `count` elements, at most kLanes; b may be null: zeros.
RAPT_INLINE F interleave(const Bf16* a, const Bf16* b, int64_t count) {
  Bf16 low[kLanes] = {}, high[kLanes] = {};
  const size_t bytes = static_cast<size_t>(count < kLanes ? count : kLanes) * sizeof(Bf16);
  std::memcpy(static_cast<void*>(low), a, bytes);
  if (b != nullptr) std::memcpy(static_cast<void*>(high), b, bytes);
  return interleave(low, high);
}

// Two bf16 rows (the second may be null: zeros) as words (a[x], b[x]): pairs along the row index.
inline void interleave_rows(const Bf16* a, const Bf16* b, int64_t dim, float* out) {
  int64_t x = 0;
  if (b != nullptr)
    for (; x + kLanes <= dim; x += kLanes) store(out + x, interleave(a + x, b + x));
  for (; x < dim; x += kLanes) store(out + x, interleave(a + x, b != nullptr ? b + x : nullptr, dim - x));
}

// `count` bf16 rows as the transposed words of their pairs: row x of `out` has the words (rows[2 j][x],
// rows[2 j + 1][x]) for j = 0, 1, ... Zeros behind the last row, up to whole vectors of words.
template <class RowOf>
inline void transpose_pairs(const RowOf& row_of, int64_t count, int64_t dim, float* out, int64_t out_row) {
  static constexpr Bf16 kZeros[kMaxHeadDim] = {};
  for (int64_t j = 0; j < count; j += 2 * kLanes) {
    const Bf16* rows[2 * kLanes];
    for (int64_t i = 0; i < 2 * kLanes; ++i) rows[i] = j + i < count ? row_of(j + i) : kZeros;
    for (int64_t x = 0; x < dim; x += kLanes) {
      F r[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const Bf16 *a = rows[2 * i] + x, *b = rows[2 * i + 1] + x;
        r[i] = x + kLanes <= dim ? interleave(a, b) : interleave(a, b, dim - x);
      }
      transpose(r);
      for (int64_t i = 0; i < std::min<int64_t>(kLanes, dim - x); ++i) store(out + (x + i) * out_row + j / 2, r[i]);
    }
  }
}
#endif

// A row-major operand of the micro-kernel.
struct Rows {
  const float* data;  // words
  int64_t row;        // words from one row to the next
};

// Pointer to row j of head h of k or v.
template <class T>
RAPT_INLINE const T* key_row(const Call& call, const View& view, const Sequence& s, int64_t j, int64_t h) {
  return reinterpret_cast<const T*>(view.data) + key_offset(call, view, s, j, h);
}

// Rows further apart than this map to few cache sets, so a block of them is copied together.
inline constexpr int64_t kFarRowBytes = 1024;

// Whether `count` rows of K or V are words as they lie.
template <bool kDot, class T, bool kTiles = false>
inline bool words_in_place(const Call& call, const View& view, int64_t count, int64_t dim) {
  constexpr bool kSameWords = std::is_same_v<T, float> || kDot;
  const bool even = !kDot || (view.seq % 2 == 0 && dim % 2 == 0);
  const bool whole = !kTiles || (count % kTileRows == 0 && dim % (2 * kTileWords) == 0);
  return kSameWords && even && whole && !call.block_table && view.seq * static_cast<int64_t>(sizeof(T)) <= kFarRowBytes;
}

// Rows [j, j + count) as words, to `out` [count][apart(padded words)].
template <bool kDot, class T>
inline void copy_rows(const Call& call, const View& view, const Sequence& s, int64_t j, int64_t count, int64_t h,
                      int64_t dim, float* out) {
  const int64_t row = apart(padded(words<kDot>(dim)));
  for (int64_t i = 0; i < count; ++i) {
    // The stores would wait for one line of L2 after the other. (Zen 4 gains nothing.)
    constexpr int64_t kRowsAhead = 8;
    if (kHasTiles && i + kRowsAhead < count)
      for (int64_t x = 0; x < row; x += kLanes) prefetch_for_writing(out + (i + kRowsAhead) * row + x);
    copy_row<kDot>(key_row<T>(call, view, s, j + i, h), dim, out + i * row);
  }
}

// Rows [j, j + count) as words: in place where the layout allows it, otherwise copied to `scratch`
// [count][apart(padded words)]. For products of whole tiles, zeros follow the last row and the last word of a row.
template <bool kDot, class T, bool kTiles = false>
inline Rows block_rows(const Call& call, const View& view, const Sequence& s, int64_t j, int64_t count, int64_t h,
                       int64_t dim, float* scratch) {
  if (words_in_place<kDot, T, kTiles>(call, view, count, dim))
    return {reinterpret_cast<const float*>(key_row<T>(call, view, s, j, h)), kDot ? view.seq / 2 : view.seq};
  const int64_t row = apart(padded(words<kDot>(dim)));
  copy_rows<kDot, T>(call, view, s, j, count, h, dim, scratch);
  if constexpr (kTiles)
    std::memset(scratch + count * row, 0, static_cast<size_t>(-count & (kTileRows - 1)) * static_cast<size_t>(row) * 4);
  return {scratch, row};
}

// Prefetches one row's cache lines.
template <auto kPrefetch = prefetch, class T>
RAPT_INLINE void prefetch_row(const T* row, int64_t dim) {
  const char* bytes = reinterpret_cast<const char*>(row);
  for (int64_t x = 0; x < dim * static_cast<int64_t>(sizeof(T)); x += 64) kPrefetch(bytes + x);
}

// 0 in every lane, but NaN in some if the row holds Inf or NaN.
template <class T>
RAPT_INLINE F zero_if_finite(const T* row, int64_t dim) {
  F seen = F{};
  for (int64_t w = 0; w < dim; w += kLanes) {
    const F v = load_words<false>(row, w, dim);
    seen = seen + (v - v);
  }
  return seen;
}

// True if rows [j, j + count) hold no Inf or NaN.
template <class T>
inline bool rows_finite(const Call& call, const View& view, const Sequence& s, int64_t j, int64_t count, int64_t h,
                        int64_t dim) {
  F seen = F{};
  for (int64_t i = 0; i < count; ++i) seen = seen + zero_if_finite(key_row<T>(call, view, s, j + i, h), dim);
  return sum(seen) == 0;
}

}  // namespace rapt::cpu::RAPT_TIER
