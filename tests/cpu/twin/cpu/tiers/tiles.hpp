// A plain C++ twin of src/cpu/tiers/tiles.hpp: the tests compile the amx_bf16 tier with it. Tile registers are arrays,
// and tdpbf16ps does what Intel's manual says (Software Developer's Manual, volume 2, TDPBF16PS). Each element of C has
// two chains of fused multiply-adds over all k, each from 0: one over the words' low halves, one over their high
// halves. The sum of both chains is added to C. Every step rounds to nearest even, takes denormals for zero and flushes
// denormal results.
#pragma once

#include <cstdlib>

#include "cpu/tiers/vec.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int kTileRows = 16, kTileWords = 16;

struct Tiles {
  alignas(64) float tile[8][kTileRows][kTileWords];
  bool configured;
};
inline thread_local Tiles tiles_of_thread;

class TileScope {
 public:
  explicit TileScope(bool wanted) : before_(tiles_of_thread.configured) {
    if (wanted) tiles_of_thread = {.tile = {}, .configured = true};
  }
  ~TileScope() { tiles_of_thread.configured = before_; }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const bool before_;
};

// The instructions fault where no tiles are configured.
template <int kTile>
RAPT_INLINE float (*tile_rows())[kTileWords] {
  if (!tiles_of_thread.configured) std::abort();
  return tiles_of_thread.tile[kTile];
}

template <int kTile>
inline void tile_zero() {
  std::memset(tile_rows<kTile>(), 0, sizeof(float[kTileRows][kTileWords]));
}
template <int kTile>
inline void tile_load(const float* from, int64_t row) {
  for (int m = 0; m < kTileRows; ++m)
    std::memcpy(tile_rows<kTile>()[m], reinterpret_cast<const char*>(from) + m * row * 4, sizeof(float[kTileWords]));
}
template <int kTile>
inline void tile_store(float* to, int64_t row) {
  for (int m = 0; m < kTileRows; ++m)
    std::memcpy(reinterpret_cast<char*>(to) + m * row * 4, tile_rows<kTile>()[m], sizeof(float[kTileWords]));
}

// Not inlined, so that no part of it moves past the changes of the rounding and denormal modes around it.
inline __attribute__((noinline)) void dot_of_arrays(float (*c)[kTileWords], const float (*a)[kTileWords],
                                                    const float (*b)[kTileWords]) {
  const auto low = [](I words) { return float_of(words << 16); };
  const auto high = [](I words) { return float_of(words & static_cast<int32_t>(0xFFFF0000u)); };
  for (int m = 0; m < kTileRows; ++m) {
    F even = {}, odd = {};
    for (int k = 0; k < kTileWords; ++k) {
      const I pair = bits_of(splat(a[m][k])), pairs = bits_of(load(b[k]));
      even = fma(low(pair), low(pairs), even);
      odd = fma(high(pair), high(pairs), odd);
    }
    store(c[m], load(c[m]) + (even + odd));
  }
}
template <int kC, int kA, int kB>
inline void tile_dot() {
  constexpr unsigned kFlushed = 0x9FC0;  // MXCSR: no exceptions, to nearest even, denormals are zeros and are flushed
  const unsigned before = _mm_getcsr();
  _mm_setcsr(kFlushed);
  dot_of_arrays(tile_rows<kC>(), tile_rows<kA>(), tile_rows<kB>());
  _mm_setcsr(before);
}

}  // namespace rapt::cpu::RAPT_TIER
