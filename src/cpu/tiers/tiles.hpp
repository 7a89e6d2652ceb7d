// Intel AMX's eight tile registers of 16 rows by 64 bytes (Intel's Software Developer's Manual, volume 1, chapter 18).
// Instructions are written out, with memory as a clobber: compilers' intrinsics of them do not order other accesses.
// tests/cpu/twin has the same functions in plain C++.
#pragma once

#include "cpu/tiers/vec.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int kTileRows = 16, kTileWords = 16;  // a word is a float, or a pair of bf16

#if defined(__AMX_BF16__)
// Sets all registers to full size while it lives. The destructor restores the caller's configuration, but not the
// registers' contents, which no call preserves.
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
#else
struct TileScope {  // other tiers have no tiles
  explicit TileScope(bool) {}
};
#endif

}  // namespace rapt::cpu::RAPT_TIER
