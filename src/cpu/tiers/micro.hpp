// The one micro-kernel behind every matrix product of attention (register blocking after Goto and van de Geijn,
// "Anatomy of high-performance matrix multiplication", 2008).
//
//   C[m][NR vectors] op= sum over k < depth of A(m, k), broadcast, times row k of B, NR vectors
//
// A is 32-bit words at a[m * a_row + k * a_depth]: floats, or pairs of bf16 when kDot. Plain loops with constant trip
// counts on purpose: helper lambdas made compilers spill the accumulators.
#pragma once

#include <algorithm>
#include <cmath>

#include "cpu/tiers/tile_product.hpp"

namespace rapt::cpu::RAPT_TIER {

#if defined(__AVX512F__)
inline constexpr int kRows = 8, kVectors = 2;  // 16 accumulators of 32 registers
#elif defined(__AVX2__)
inline constexpr int kRows = 6, kVectors = 2;  // 12 of 16
#else
inline constexpr int kRows = 4, kVectors = 2;
#endif

// Steps of depth between two branches: on Intel the instructions of the loop itself take ports of the FMAs.
inline constexpr int kDepthUnroll = kHasTiles ? 8 : 2;

enum class Out {
  store,      // C = product
  begin,      // the same before joins; a separate value, so that compilers still specialise `store` for its one user
  store_max,  // and each lane's maximum over the rows is folded into aux[NR]
  rescale,    // C = C * aux[NR] + product
  add,        // C = C + product, accumulated onto C
  join,       // C = C + product, the product summed first
  join_max    // join, with store_max's maximum
};

// A word of A, unaligned: a caller's row of bf16 may begin at any even address.
typedef float Word __attribute__((aligned(2), may_alias));

template <bool kDot>
RAPT_INLINE F multiply_add(F acc, F a, F b) {
#if defined(__AVX512BF16__)
  if constexpr (kDot) return dot2(acc, a, b);
#endif
  return fma(a, b, acc);
}

template <bool kDot, Out kOut, int MR, int NR>
RAPT_INLINE void micro(const float* __restrict a, int64_t a_row, int64_t a_depth, const float* __restrict b,
                       int64_t b_row, int64_t depth, float* __restrict c, int64_t c_row, F* __restrict aux) {
  F acc[MR][NR];
  RAPT_UNROLL for (int m = 0; m < MR; ++m) {
    RAPT_UNROLL for (int n = 0; n < NR; ++n) {
      if constexpr (kOut == Out::rescale) acc[m][n] = aux[n] * load(c + m * c_row + n * kLanes);
      else if constexpr (kOut == Out::add) acc[m][n] = load(c + m * c_row + n * kLanes);
      else acc[m][n] = F{};
    }
  }
  _Pragma("GCC unroll kDepthUnroll") for (int64_t k = 0; k < depth; ++k) {
    F bk[NR];
    RAPT_UNROLL for (int n = 0; n < NR; ++n) bk[n] = load(b + k * b_row + n * kLanes);
    RAPT_UNROLL for (int m = 0; m < MR; ++m) {
      const F am = splat(reinterpret_cast<const Word*>(a)[m * a_row + k * a_depth]);
      RAPT_UNROLL for (int n = 0; n < NR; ++n) acc[m][n] = multiply_add<kDot>(acc[m][n], am, bk[n]);
    }
  }
  RAPT_UNROLL for (int m = 0; m < MR; ++m) {
    RAPT_UNROLL for (int n = 0; n < NR; ++n) {
      float* to = c + m * c_row + n * kLanes;
      if constexpr (kOut == Out::join || kOut == Out::join_max) acc[m][n] = load(to) + acc[m][n];
      store(to, acc[m][n]);
    }
  }
  if constexpr (kOut == Out::store_max || kOut == Out::join_max) {
    RAPT_UNROLL for (int n = 0; n < NR; ++n) {
      F most = aux[n];
      RAPT_UNROLL for (int m = 0; m < MR; ++m) most = max(acc[m][n], most);
      aux[n] = most;
    }
  }
}

template <bool kDot, Out kOut, int MR, int NR>
RAPT_INLINE void last_rows(int64_t rows, const float* a, int64_t a_row, int64_t a_depth, const float* b, int64_t b_row,
                           int64_t depth, float* c, int64_t c_row, F* aux) {
  if constexpr (MR > 0) {
    if (rows == MR) micro<kDot, kOut, MR, NR>(a, a_row, a_depth, b, b_row, depth, c, c_row, aux);
    else last_rows<kDot, kOut, MR - 1, NR>(rows, a, a_row, a_depth, b, b_row, depth, c, c_row, aux);
  }
}

// Rows of the next tile of AVX2 if `left` are left. A last tile of one or two rows has too few sums to hide the latency
// of its multiply-adds, so what is less than one and a half tiles is cut into two halves.
constexpr int64_t next_tile(int64_t left) {
  if (left <= kRows) return left;
  return left <= kRows + kRows / 2 ? (left + 1) / 2 : kRows;
}

// Any number of rows of one column of NR vectors.
template <bool kDot, Out kOut, int NR = kVectors>
__attribute__((noinline)) void column(int64_t rows, const float* a, int64_t a_row, int64_t a_depth, const float* b,
                                      int64_t b_row, int64_t depth, float* c, int64_t c_row, F* aux = nullptr) {
  if constexpr (kAvx2Only) {
    for (int64_t m = 0, count; m < rows; m += count) {
      count = next_tile(rows - m);
      if constexpr (kOut == Out::add)  // sums of keys lie far apart, and in no near cache
        for (int64_t i = m + count; i < std::min(m + count + kRows, rows); ++i) prefetch_for_writing(c + i * c_row);
      last_rows<kDot, kOut, kRows, NR>(count, a + m * a_row, a_row, a_depth, b, b_row, depth, c + m * c_row, c_row,
                                       aux);
    }
  } else {
    int64_t m = 0;
    for (; m + kRows <= rows; m += kRows)
      micro<kDot, kOut, kRows, NR>(a + m * a_row, a_row, a_depth, b, b_row, depth, c + m * c_row, c_row, aux);
    last_rows<kDot, kOut, kRows - 1, NR>(rows - m, a + m * a_row, a_row, a_depth, b, b_row, depth, c + m * c_row, c_row,
                                         aux);
  }
}

// A sum over head_dim is one chain of `depth` multiply-adds up to kOneChain. Beyond, it is split into equal parts of at
// most kPartOfChain products, added in order, because a chain's error grows faster than its length. Returns the length
// of a part.
inline constexpr int64_t kOneChain = 256, kPartOfChain = 128;
template <bool kDot>
constexpr int64_t chain_length(int64_t head_dim, int64_t depth) {
  if (head_dim <= kOneChain) return depth;
  const int64_t parts = (depth * (kDot ? 2 : 1) + kPartOfChain - 1) / kPartOfChain;
  return (depth + parts - 1) / parts;
}

// column() with kOut store or store_max, in parts of `part` words of depth.
template <bool kDot, Out kOut>
__attribute__((noinline)) void column_in_parts(int64_t rows, const float* a, int64_t a_row, const float* b,
                                               int64_t b_row, int64_t depth, int64_t part, float* c, int64_t c_row,
                                               F* aux) {
  constexpr Out kLast = kOut == Out::store_max ? Out::join_max : Out::join;
  column<kDot, Out::begin>(rows, a, a_row, 1, b, b_row, part, c, c_row);
  int64_t k = part;
  for (; k + part < depth; k += part)
    column<kDot, Out::join>(rows, a + k, a_row, 1, b + k * b_row, b_row, part, c, c_row);
  column<kDot, kLast>(rows, a + k, a_row, 1, b + k * b_row, b_row, depth - k, c, c_row, aux);
}

// Each lane's maximum over the rows of a column is folded into most[kVectors]: several rows at a time, because one
// chain of maxima would take as long as its latencies.
inline void fold_max(const float* s, int64_t rows, int64_t row, F* most) {
  constexpr int kChains = 4;
  F part[kChains][kVectors];
  for (auto& chain : part)
    for (F& x : chain) x = splat(-INFINITY);
  int64_t j = 0;
  for (; j + kChains <= rows; j += kChains) {
    RAPT_UNROLL for (int c = 0; c < kChains; ++c) {
      RAPT_UNROLL for (int v = 0; v < kVectors; ++v) part[c][v] = max(load(s + (j + c) * row + v * kLanes), part[c][v]);
    }
  }
  for (; j < rows; ++j)
    for (int v = 0; v < kVectors; ++v) part[0][v] = max(load(s + j * row + v * kLanes), part[0][v]);
  for (const auto& chain : part)
    for (int v = 0; v < kVectors; ++v) most[v] = max(chain[v], most[v]);
}

#if defined(__AMX_BF16__)
// C times a factor per lane, which is mostly 1.
inline void scale_lanes(int64_t rows, float* c, int64_t c_row, const F* factors) {
  bool ones = true;
  for (int v = 0; v < kVectors; ++v)
    ones &= _mm512_cmp_ps_mask((__m512)factors[v], _mm512_set1_ps(1), _CMP_NEQ_UQ) == 0;
  for (int64_t m = 0; m < rows && !ones; ++m)
    for (int v = 0; v < kVectors; ++v) store(c + m * c_row + v * kLanes, load(c + m * c_row + v * kLanes) * factors[v]);
}

// column() with a_depth 1 on tiles; what is left of rows and depth by dot products of vectors.
template <Out kOut>
__attribute__((noinline)) void column_of_tiles(int64_t rows, const float* a, int64_t a_row, const float* b,
                                               int64_t b_row, int64_t depth, float* c, int64_t c_row,
                                               F* aux = nullptr) {
  const int64_t whole = depth / kTileWords * kTileWords, tiled = whole == 0 ? 0 : rows / kTileRows * kTileRows;
  if constexpr (kOut == Out::rescale) scale_lanes(tiled, c, c_row, aux);
  if (tiled > 0) {
    tile_product<kOut == Out::rescale || kOut == Out::add>(tiled, a, a_row, b, b_row, whole, c, c_row);
    if (whole < depth)
      column<true, Out::add>(tiled, a + whole, a_row, 1, b + whole * b_row, b_row, depth - whole, c, c_row);
    if constexpr (kOut == Out::store_max) fold_max(c, tiled, c_row, aux);
  }
  if (tiled < rows)
    column<true, kOut>(rows - tiled, a + tiled * a_row, a_row, 1, b, b_row, depth, c + tiled * c_row, c_row, aux);
}
#endif

// The same for products along head_dim.
template <bool kDot, Out kOut>
RAPT_INLINE void column_of_dots(int64_t rows, const float* a, int64_t a_row, const float* b, int64_t b_row,
                                int64_t head_dim, float* c, int64_t c_row, F* aux = nullptr) {
  const int64_t depth = kDot ? (head_dim + 1) / 2 : head_dim, part = chain_length<kDot>(head_dim, depth);
#if defined(__AMX_BF16__)
  if constexpr (kDot) return column_of_tiles<kOut>(rows, a, a_row, b, b_row, depth, c, c_row, aux);
#endif
  if (part < depth) column_in_parts<kDot, kOut>(rows, a, a_row, b, b_row, depth, part, c, c_row, aux);
  else column<kDot, kOut>(rows, a, a_row, 1, b, b_row, depth, c, c_row, aux);
}

// C[rows][vectors] += A B for any number of vectors: the gradients of K and V.
template <bool kDot>
__attribute__((noinline)) void accumulate(int64_t rows, int64_t vectors, const float* a, int64_t a_row, int64_t a_depth,
                                          const float* b, int64_t b_row, int64_t depth, float* c, int64_t c_row) {
#if defined(__AMX_BF16__)
  if constexpr (kDot) {  // rows are whole columns
    for (int64_t n = 0; n < vectors * kLanes; n += kVectors * kLanes)
      column_of_tiles<Out::add>(rows, a, a_row, b + n, b_row, depth, c + n, c_row);
    return;
  }
#endif
  if constexpr (kHasTiles || kAvx2Only) {  // B's column of up to 16 KiB stays in L1, and A is read once per column
    int64_t n = 0;
    for (; n + kVectors <= vectors; n += kVectors)
      column<kDot, Out::add, kVectors>(rows, a, a_row, a_depth, b + n * kLanes, b_row, depth, c + n * kLanes, c_row);
    for (; n < vectors; ++n)
      column<kDot, Out::add, 1>(rows, a, a_row, a_depth, b + n * kLanes, b_row, depth, c + n * kLanes, c_row);
    return;
  }
  for (int64_t m = 0; m < rows; m += kRows) {
    const int64_t count = rows - m < kRows ? rows - m : kRows;
    int64_t n = 0;
    for (; n + kVectors <= vectors; n += kVectors)
      column<kDot, Out::add, kVectors>(count, a + m * a_row, a_row, a_depth, b + n * kLanes, b_row, depth,
                                       c + m * c_row + n * kLanes, c_row);
    for (; n < vectors; ++n)
      column<kDot, Out::add, 1>(count, a + m * a_row, a_row, a_depth, b + n * kLanes, b_row, depth,
                                c + m * c_row + n * kLanes, c_row);
  }
}

}  // namespace rapt::cpu::RAPT_TIER
