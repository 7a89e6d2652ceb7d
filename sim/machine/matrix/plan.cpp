#include "sim/machine/matrix/plan.hpp"

#include <stdexcept>
#include <string>

namespace rapt::sim::matrix {

namespace {

// gfx11 repeats A and B in every 16 lanes. Lanes 16h to 16h + 15 hold the rows of D whose number modulo lanes / 16 is
// h. They use their own copies of A and B: one strip of rows per group of lanes.
void place_gfx11(Plan& p) {
  const unsigned strips = p.lanes / 16;
  p.blocks = p.a_stride = strips;
  p.rows = 16 / strips;
  for (unsigned strip = 0; strip < strips; ++strip) {
    for (unsigned k = 0; k < p.k; ++k) {
      p.b_at[strip * p.k + k] = static_cast<std::uint16_t>(k * p.lanes + 16 * strip);
      p.a_at[strip * p.k + k] = static_cast<std::uint16_t>(p.b_at[strip * p.k + k] + strip);
    }
    for (unsigned row = 0; row < p.rows; ++row)
      p.d_at[strip * p.rows + row] = static_cast<std::uint16_t>(row * p.lanes + 16 * strip);
  }
}

Plan plan(const Op& op, Element a, Element b, unsigned lanes) {
  const Shape s = op.shape;
  const bool sparse = op.family == Family::smfmac || op.family == Family::swmmac;
  Plan p{};
  p.op = &op;
  p.lanes = lanes;
  p.k = sparse ? s.k / 2 : s.k;
  if (op.family == Family::wmma_gfx11) {
    p.a = p.b = {16, 1, 1, s.k, s.k};
    p.d_registers = op.d == Element::f32 || op.d == Element::i32 || lanes == 32 ? 256 / lanes : 4;
    place_gfx11(p);
    return p;
  }
  p.rows = s.m;
  p.blocks = s.blocks;
  p.a_stride = 1;
  p.a = input_layout(op.family, s, s.m, p.k, a, lanes, false);
  p.b = input_layout(op.family, s, s.n, s.k, b, lanes, true);
  const OutputLayout d = output_layout(op.family, s, op.d, lanes);
  p.d_registers = s.m * s.n * s.blocks / lanes * bits(op.d) / 32;
  for (unsigned block = 0; block < s.blocks; ++block) {
    for (unsigned k = 0; k < p.k; ++k) {
      const auto at = p.a.place(block, k);
      p.a_at[block * p.k + k] = static_cast<std::uint16_t>(at.element * lanes + at.lane);
    }
    for (unsigned k = 0; k < s.k; ++k) {
      const auto at = p.b.place(block, k);
      p.b_at[block * s.k + k] = static_cast<std::uint16_t>(at.element * lanes + at.lane);
    }
    for (unsigned row = 0; row < s.m; ++row) {
      const auto at = d.place(block, row);
      const unsigned reg = op.d == Element::f64 ? 2 * at.item : at.item;
      p.d_at[block * s.m + row] = static_cast<std::uint16_t>(reg * lanes + at.lane);
    }
  }
  return p;
}

}  // namespace

Plan make_plan(const Op& op, unsigned lanes) { return plan(op, op.a, op.b, lanes); }
Plan make_plan(const Op& op, Element a, Element b) { return plan(op, a, b, 64); }

}  // namespace rapt::sim::matrix
