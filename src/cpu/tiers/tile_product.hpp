// Matrix products on tiles: 2 by 2 tiles of C at a time, so that every tile of A and B that is loaded is used twice.
#pragma once

#include <type_traits>

#include "cpu/tiers/tiles.hpp"

namespace rapt::cpu::RAPT_TIER {

#if defined(__AMX_BF16__)
// C = A B, or C += A B: whole tiles of C, 32 lanes wide. rows is a multiple of 16, depth of 16 words.
template <bool kAdd>
__attribute__((noinline)) void tile_product(int64_t rows, const float* a, int64_t a_row, const float* b, int64_t b_row,
                                            int64_t depth, float* c, int64_t c_row) {
  const auto begin = [&]<int kLeft>(std::integral_constant<int, kLeft>, float* at) __attribute__((always_inline)) {
    if constexpr (kAdd) {
      tile_load<kLeft>(at, c_row);
      tile_load<kLeft + 1>(at + kTileWords, c_row);
    } else {
      tile_zero<kLeft>();
      tile_zero<kLeft + 1>();
    }
  };
  int64_t m = 0;
  for (; m + 2 * kTileRows <= rows; m += 2 * kTileRows) {
    const float *first = a + m * a_row, *second = first + kTileRows * a_row;
    float *to = c + m * c_row, *to_second = to + kTileRows * c_row;
    begin(std::integral_constant<int, 0>(), to);
    begin(std::integral_constant<int, 2>(), to_second);
    for (int64_t k = 0; k < depth; k += kTileWords) {
      tile_load<4>(first + k, a_row);
      tile_load<6>(b + k * b_row, b_row);
      tile_load<7>(b + k * b_row + kTileWords, b_row);
      tile_load<5>(second + k, a_row);
      tile_dot<0, 4, 6>();
      tile_dot<1, 4, 7>();
      tile_dot<2, 5, 6>();
      tile_dot<3, 5, 7>();
    }
    tile_store<0>(to, c_row);
    tile_store<1>(to + kTileWords, c_row);
    tile_store<2>(to_second, c_row);
    tile_store<3>(to_second + kTileWords, c_row);
  }
  if (m == rows) return;
  float* to = c + m * c_row;
  begin(std::integral_constant<int, 0>(), to);
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
