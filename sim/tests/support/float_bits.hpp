// Values of floating-point formats by their definition, and the nearest of them, computed with ldexp and search: slow
// and simple, to compare the fast conversions with.
#pragma once

#include "sim/isa/arch.hpp"

#include <cstdint>
#include <string>

namespace rapt::sim::test {

struct FormatModel {
  unsigned bits, mantissa;
  int bias;
  bool infinity;  // the largest exponent holds infinity and NaNs
  bool top_nan;   // all ones: NaN
  bool fnuz;      // minus zero: the NaN
};
FormatModel format_model(const std::string& type, Arch arch);

// The value; a quiet NaN if it is a NaN.
double value_of(const FormatModel& f, std::uint32_t bits);
// The nearest value's bits, ties to even; overflow as in the format (infinity, NaN, or the largest).
std::uint32_t nearest_bits(const FormatModel& f, double value, bool saturate = false);

double value_of(const std::string& type, Arch arch, std::uint64_t bits);  // also f32, f64, integers

}  // namespace rapt::sim::test
