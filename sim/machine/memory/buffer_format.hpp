// The data formats of typed buffer accesses.
#pragma once

#include "sim/machine/memory/buffer_resource.hpp"

#include <array>

namespace rapt::sim {

enum class Number : u8 { unorm, snorm, uscaled, sscaled, uint, sint, reserved, real };

// Components from the least significant bit up.
struct BufferFormat {
  u8 bits[4];
  Number number;
  unsigned components() const { return (bits[0] != 0) + (bits[1] != 0) + (bits[2] != 0) + (bits[3] != 0); }
  unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8U; }
};

// gfx9's pair of fields, or the unified number of gfx11 and gfx12; no components if there is no such format.
BufferFormat buffer_format(bool gfx9, unsigned data_format, unsigned number_format);

// Converts one element to the dwords (D16: halves) that a load returns, and back.
std::array<u32, 4> unpack(const BufferFormat& format, const unsigned char* element, bool d16);
void pack(const BufferFormat& format, const std::array<u32, 4>& values, bool d16, unsigned char* element);

}  // namespace rapt::sim
