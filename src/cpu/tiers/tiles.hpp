// Intel AMX's eight tile registers of 16 rows by 64 bytes (Intel's Software Developer's Manual, volume 1, chapter 18).
// Instructions are written out, with memory as a clobber: compilers' intrinsics of them do not order other accesses.
#pragma once

#include <type_traits>

#include "cpu/tiers/vec.hpp"

namespace rapt::cpu::RAPT_TIER {

#if defined(__AMX_BF16__)
inline constexpr int kTileRows = 16, kTileWords = 16;  // a word is a float, or a pair of bf16

// All registers of full size while this lives. A configuration of the caller's comes back; its contents do not, as
// after any call.
class TileScope {
 public:
  explicit TileScope(bool wanted) : wanted_(wanted) {
    if (!wanted_) return;
    asm volatile("sttilecfg %0" : "=m"(before_));
    Config own = {};
    own.palette = 1;
    for (int i = 0; i < 8; ++i) {
      own.row_bytes[i] = 4 * kTileWords;
      own.rows[i] = kTileRows;
    }
    asm volatile("ldtilecfg %0" ::"m"(own));
  }
  ~TileScope() {
    if (!wanted_) return;
    if (before_.palette == 0) asm volatile("tilerelease" ::: "memory");
    else asm volatile("ldtilecfg %0" ::"m"(before_));
  }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  struct alignas(64) Config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  };
  Config before_;
  const bool wanted_;
};

template <int kTile>
RAPT_INLINE void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
// Rows of 16 words, `row` words apart.
template <int kTile>
RAPT_INLINE void tile_load(const float* from, int64_t row) {
  asm volatile("tileloadd (%0,%1,4), %%tmm%c2" ::"r"(from), "r"(row), "i"(kTile) : "memory");
}
template <int kTile>
RAPT_INLINE void tile_store(float* to, int64_t row) {
  asm volatile("tilestored %%tmm%c2, (%0,%1,4)" ::"r"(to), "r"(row), "i"(kTile) : "memory");
}
// C [m][n] += A [m][k] B [k][n], k pairs of bf16.
template <int kC, int kA, int kB>
RAPT_INLINE void tile_dot() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kC), "i"(kA), "i"(kB));
}

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
#else
struct TileScope {  // other tiers have no tiles
  explicit TileScope(bool) {}
};
#endif

}  // namespace rapt::cpu::RAPT_TIER
