// Decode of bf16 on AMX's tiles, for five rows and more: a vector of scores is one key by 16 rows, rows beyond the
// head's are zero.
//   S^T = K Q^T   A: 16 keys as they lie, B: Q^T [words][16]
//   O += P V      A: P [16 rows][pairs of keys], B: V in pairs of keys
#pragma once

#include "cpu/tiers/decode_products.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kLeastTileRows = 5;  // fewer are as fast without, or faster
using TileRows = DecodeRows<kTileRows, true>;

// Whether rows of T and this layout are products of tiles.
template <class T, class Layout>
inline constexpr bool kDecodeTiles = kBlockDot<T> && kHasTiles && Layout::R == kTileRows;

#if defined(__AMX_BF16__)
class TileDecode {
 public:
  // operand: scratch of DecodeScratch.
  TileDecode(const DecodeBlock& block, float* operand, DecodeAhead& ahead)
      : block_(block), operand_(operand), ahead_(ahead) {}

  // Rows of keys are `key_row` words apart, or anywhere if it is 0. q: [words][16].
  void products(int64_t key_row, const float* q, int64_t head_dim, float scale, float* scores) {
    const int64_t words = padded(rapt::cpu::RAPT_TIER::words<true>(head_dim));
    int64_t j = 0;
    if (key_row != 0 && head_dim % (2 * kTileWords) == 0)
      for (; j + 4 * kTileRows <= block_.count; j += 4 * kTileRows)
        key_tiles<4>({reinterpret_cast<const float*>(block_.key<Bf16>(j)), key_row}, q, words, scores + j * kTileRows);
    for (; j < block_.count; j += kTileRows)
      key_tiles<1>(copied_keys(j, head_dim, words), q, words, scores + j * kTileRows);
    for (int64_t i = 0; i < block_.count * kTileRows; i += kLanes) store(scores + i, load(scores + i) * splat(scale));
  }

  // o: [16][o_row]. Overwrites `narrow`, P as A of each kKeys keys.
  void values(const float* p, float* narrow, int64_t dim, float* o, int64_t o_row) {
    for (int64_t j = 0; j < block_.count; j += kKeys) narrow_rows(p, j, narrow + j / kKeys * kTileFloats);
    int64_t x = 0;
    for (; x + 3 * kTileWords < dim; x += 4 * kTileWords) columns<4>(narrow, x, dim, o, o_row);
    for (; x + kTileWords < dim; x += 2 * kTileWords) columns<2>(narrow, x, dim, o, o_row);
    if (x < dim) columns<1>(narrow, x, dim, o, o_row);
  }

 private:
  static constexpr int64_t kKeys = 2 * kTileWords, kTileFloats = kTileRows * kTileWords;

  // Scores of 16 N keys: several tiles at a time, because products that add to one tile wait for each other.
  template <int N>
  void key_tiles(const Rows& keys, const float* q, int64_t words, float* scores) {
    each<N>([&]<int n>(std::integral_constant<int, n>) { tile_zero<n>(); });
    for (int64_t w = 0; w < words; w += kTileWords) {
      tile_load<6>(q + w * kTileRows, kTileRows);
      each<N>([&]<int n>(std::integral_constant<int, n>) {
        ahead_.lines<kTileRows>();
        tile_load<4 + n % 2>(keys.data + n * kTileRows * keys.row + w, keys.row);
        tile_dot<n, 4 + n % 2, 6>();
      });
    }
    each<N>(
        [&]<int n>(std::integral_constant<int, n>) { tile_store<n>(scores + n * kTileRows * kTileRows, kTileRows); });
  }

  // Keys [j, j + 16), zeros behind the last.
  Rows copied_keys(int64_t j, int64_t head_dim, int64_t words) {
    for (int64_t i = 0; i < kTileRows; ++i) {
      float* to = operand_ + i * words;
      if (j + i < block_.count) copy_row<true>(block_.key<Bf16>(j + i), head_dim, to);
      else std::memset(to, 0, static_cast<size_t>(words) * sizeof(float));
    }
    return {operand_, words};
  }

  void narrow_rows(const float* p, int64_t j, float* to) const {
    const auto weights = [&](int64_t key) { return key < block_.count ? load(p + key * kTileRows) : F{}; };
    F r[kTileWords];
    for (int64_t i = 0; i < kTileWords; ++i) r[i] = pack_pairs(weights(j + 2 * i), weights(j + 2 * i + 1));
    transpose(r);
    for (int64_t i = 0; i < kTileRows; ++i) store(to + i * kTileWords, r[i]);
  }

  // O's columns [x, x + 16 N); their tiles stay in registers for all keys.
  template <int N>
  void columns(const float* narrow, int64_t x, int64_t dim, float* o, int64_t o_row) {
    each<N>([&]<int n>(std::integral_constant<int, n>) { tile_load<n>(o + x + n * kTileWords, o_row); });
    for (int64_t j = 0; j < block_.count; j += kKeys) {
      value_pairs<N>(j, x, dim);
      tile_load<4>(narrow + j / kKeys * kTileFloats, kTileWords);
      each<N>([&]<int n>(std::integral_constant<int, n>) {
        tile_load<5 + n % 2>(operand_ + n * kTileWords, N * kTileWords);
        tile_dot<n, 4, 5 + n % 2>();
      });
    }
    each<N>([&]<int n>(std::integral_constant<int, n>) { tile_store<n>(o + x + n * kTileWords, o_row); });
  }

  // Columns [x, x + 16 N) of V as pairs of keys, zeros behind the last key and column.
  template <int N>
  void value_pairs(int64_t j, int64_t x, int64_t dim) {
    static constexpr Bf16 kZeros[kMaxHeadDim] = {};
    const auto row = [&](int64_t key) { return key < block_.count ? block_.value<Bf16>(key) : kZeros; };
    for (int64_t i = 0; i < kTileWords; ++i) {
      ahead_.lines<N>();
      const Bf16 *a = row(j + 2 * i), *b = row(j + 2 * i + 1);
      for (int64_t n = 0; n < N; ++n) {
        const int64_t at = x + n * kTileWords;
        store(operand_ + (i * N + n) * kTileWords,
              at + kTileWords <= dim ? interleave(a + at, b + at) : interleave(a + at, b + at, dim - at));
      }
    }
  }

  template <int N, class Body>
  static RAPT_INLINE void each(const Body& body) {
    [&]<int... n>(std::integer_sequence<int, n...>) {
      (body(std::integral_constant<int, n>()), ...);
    }(std::make_integer_sequence<int, N>());
  }

  const DecodeBlock& block_;
  float* const operand_;
  DecodeAhead& ahead_;
};
#endif

}  // namespace rapt::cpu::RAPT_TIER
