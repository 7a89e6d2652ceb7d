// Peak rates of the chips on which kernels were measured.
#pragma once

#include "sim/timing/chip.hpp"

#include <cstdint>

namespace rapt::sim::validate {

// What a matrix instruction multiplies.
enum class MatrixType : std::uint8_t { bf16, fp8, int8, fp4 };

// Floating-point operations per second, dense; 0 if the chip has no such instruction.
double peak(const timing::Chip& chip, MatrixType type);

// The chip of an architecture that has this many compute units; InputError if there is none.
const timing::Chip& chip_of(Arch arch, unsigned compute_units);

}  // namespace rapt::sim::validate
