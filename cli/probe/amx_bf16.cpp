#include <immintrin.h>

#include "cli/probe/loops.hpp"

namespace rapt::cli {

namespace {

struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

constexpr size_t kTileElements = 16 * 32;
constexpr double kFlopsPerDot = 16 * 16 * 32 * 2;

// g++ 12's intrinsics claim to read 8 bytes of a configuration and nothing of a tile. Without this the compiler would
// leave the rest unwritten.
void written(const void* data) { asm volatile("" ::"r"(data) : "memory"); }

// Products of two by two tiles, as in a matrix product. Operands come from kTiles tiles in turn.
template <int kTiles>
void dot_loop(int64_t iterations) {
  TileConfig config;
  for (int i = 0; i < 8; ++i) {
    config.row_bytes[i] = 64;
    config.rows[i] = 16;
  }
  written(&config);
  _tile_loadconfig(&config);
  alignas(64) uint16_t operands[kTiles][kTileElements];
  for (auto& tile : operands)
    for (uint16_t& element : tile) element = 0x3C24;  // 0.01
  written(operands);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t n = 0; n < iterations; ++n) {
    const uint16_t(*at)[kTileElements] = operands + 4 * n % kTiles;
    _tile_loadd(4, at[0], 64);
    _tile_loadd(5, at[1], 64);
    _tile_loadd(6, at[2], 64);
    _tile_loadd(7, at[3], 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

}  // namespace

constexpr PeakLoop kAmxBf16Dot{4 * kFlopsPerDot, dot_loop<8>};       // 8 KiB: in L1
constexpr PeakLoop kAmxBf16DotFar{4 * kFlopsPerDot, dot_loop<512>};  // 512 KiB: in L2

}  // namespace rapt::cli
