// Element types of the matrix operands, and unpacking from registers to floats.
#pragma once

#include "sim/isa/arch.hpp"

#include <cstdint>

namespace rapt::sim::matrix {

enum class Element : std::uint8_t {
  f64,
  f32,
  xf32,
  f16,
  bf16,
  fp8,
  bf8,
  fp6,
  bf6,
  fp4,
  i8,
  i4,
  u8,
  u4,
  i32,
};

constexpr unsigned bits(Element e) {
  switch (e) {
    case Element::f64: return 64;
    case Element::f32:
    case Element::xf32:
    case Element::i32: return 32;
    case Element::f16:
    case Element::bf16: return 16;
    case Element::fp8:
    case Element::bf8:
    case Element::i8:
    case Element::u8: return 8;
    case Element::fp6:
    case Element::bf6: return 6;
    case Element::fp4:
    case Element::i4:
    case Element::u4: return 4;
  }
  return 0;
}
constexpr bool is_integer(Element e) {
  return e == Element::i8 || e == Element::u8 || e == Element::i4 || e == Element::u4 || e == Element::i32;
}

// Element e of lane l goes to to[e * lanes + l]. `rows`: the operand's registers, each a row of all lanes. fp8 and bf8
// are FNUZ on gfx942. Integers are converted to floats exactly.
void unpack(Element type, Arch arch, const std::uint32_t* rows, unsigned elements, unsigned lanes, float* to);

}  // namespace rapt::sim::matrix
