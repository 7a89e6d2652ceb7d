// For the sanitizer: gfx11's WMMA takes A and B from every 16 lanes, which must hold the same (RDNA3 document,
// section 7.9).
#pragma once

#include "sim/machine/core/wave.hpp"

#include <optional>

namespace rapt::sim::matrix {

struct UnequalCopy {
  unsigned source;  // 0: A, 1: B
  unsigned dword;   // of the operand
  unsigned lane;    // differs from lane % 16
};

// The first difference of a decoded v_wmma_* of gfx11; none where the copies agree. The product itself is computed with
// each 16 lanes' own copies of A and B for the rows of D that they hold.
std::optional<UnequalCopy> unequal_copy(Wave& w, const Instruction& i);

}  // namespace rapt::sim::matrix
