// The number formats of kernels' operands: what their bits mean, and pseudo-random values of a sensible size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rapt::sim::validate {

enum class Number : std::uint8_t {
  f32,
  bf16,
  fp8,       // e4m3 of the OCP: gfx950
  fp8_fnuz,  // e4m3 without negative zero, exponents biased by 8: gfx942
  int8,
  fp4,   // e2m1, two to a byte, the first in the low bits
  e8m0,  // a power of two: the scale of a block
};

std::size_t bytes_of(Number number, std::size_t count);
double value_at(Number number, const std::byte* data, std::size_t index);

// The same bytes for the same seed; neither NaN nor infinity. f32 is for scales: 1/4 to 1.
void fill_random(Number number, std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace rapt::sim::validate
