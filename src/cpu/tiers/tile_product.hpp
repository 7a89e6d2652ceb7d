// Matrix products on tiles: 2 by 2 tiles of C at a time, so that every tile of A and B that is loaded is used twice.
#pragma once

#include "cpu/tiers/tiles.hpp"

namespace rapt::cpu::RAPT_TIER {

#if defined(__AMX_BF16__)
// Two tiles of C side by side, kLeft and kLeft + 1, before a product is added.
template <int kLeft, bool kAdd>
RAPT_INLINE void begin_tiles([[maybe_unused]] const float* c, [[maybe_unused]] int64_t c_row) {
  if constexpr (kAdd) {
    tile_load<kLeft>(c, c_row);
    tile_load<kLeft + 1>(c + kTileWords, c_row);
  } else {
    tile_zero<kLeft>();
    tile_zero<kLeft + 1>();
  }
}

// C = A B, or C += A B: 32 rows by 32 lanes. depth is a multiple of 16 words.
inline constexpr int kBlockRows = 2 * kTileRows;
template <bool kAdd>
RAPT_INLINE void tile_block(const float* a, int64_t a_row, const float* b, int64_t b_row, int64_t depth, float* c,
                            int64_t c_row) {
  const float* second = a + kTileRows * a_row;
  float* to_second = c + kTileRows * c_row;
  begin_tiles<0, kAdd>(c, c_row);
  begin_tiles<2, kAdd>(to_second, c_row);
  for (int64_t k = 0; k < depth; k += kTileWords) {
    tile_load<4>(a + k, a_row);
    tile_load<6>(b + k * b_row, b_row);
    tile_load<7>(b + k * b_row + kTileWords, b_row);
    tile_load<5>(second + k, a_row);
    tile_dot<0, 4, 6>();
    tile_dot<1, 4, 7>();
    tile_dot<2, 5, 6>();
    tile_dot<3, 5, 7>();
  }
  tile_store<0>(c, c_row);
  tile_store<1>(c + kTileWords, c_row);
  tile_store<2>(to_second, c_row);
  tile_store<3>(to_second + kTileWords, c_row);
}

// The same for any whole number of row tiles.
template <bool kAdd>
__attribute__((noinline)) void tile_product(int64_t rows, const float* a, int64_t a_row, const float* b, int64_t b_row,
                                            int64_t depth, float* c, int64_t c_row) {
  int64_t m = 0;
  for (; m + kBlockRows <= rows; m += kBlockRows)
    tile_block<kAdd>(a + m * a_row, a_row, b, b_row, depth, c + m * c_row, c_row);
  if (m == rows) return;
  float* to = c + m * c_row;
  begin_tiles<0, kAdd>(to, c_row);
  for (int64_t k = 0; k < depth; k += kTileWords) {
    tile_load<4>(a + m * a_row + k, a_row);
    tile_load<6>(b + k * b_row, b_row);
    tile_load<7>(b + k * b_row + kTileWords, b_row);
    tile_dot<0, 4, 6>();
    tile_dot<1, 4, 7>();
  }
  tile_store<0>(to, c_row);
  tile_store<1>(to + kTileWords, c_row);
}
#endif

}  // namespace rapt::cpu::RAPT_TIER
