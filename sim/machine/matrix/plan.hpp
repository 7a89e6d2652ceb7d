// What is computed once for a matrix instruction and a wave's size: where rows and columns of the operands are.
#pragma once

#include "sim/machine/matrix/ops.hpp"
#include "sim/machine/matrix/tile.hpp"

namespace rapt::sim::matrix {

struct Plan {
  const Op* op;
  unsigned lanes;
  unsigned k;                       // stored ones: half of the shape's if A is sparse
  unsigned rows, blocks, a_stride;  // as in Tile
  InputLayout a, b;
  unsigned d_registers;
  // Positions in unpacked operands and in D's registers (f64: of the low halves).
  std::array<std::uint16_t, 128> a_at, b_at, d_at;
};

Plan make_plan(const Op& op, unsigned lanes);

// Plans of gfx950's F8F6F4 depend on the types that the instruction names.
Plan make_plan(const Op& op, Element a, Element b);

}  // namespace rapt::sim::matrix
