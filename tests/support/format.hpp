// Encoding of doubles in the tensor types, by the definition of each format. Shares nothing with the library's own
// conversions, which are tested against it.
#pragma once

#include <cstdint>

#include "rapt/rapt.h"

namespace test {

// Rounds to nearest even with `digits` significant bits, down to multiples of 2^least; beyond `largest` infinite.
double round_to_format(double value, int digits, int least, double largest);

double decode(const unsigned char* bytes, rapt_dtype dtype);
void encode(double value, unsigned char* bytes, rapt_dtype dtype);

}  // namespace test
