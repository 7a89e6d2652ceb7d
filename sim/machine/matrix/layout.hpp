// Where the elements of the matrices are in registers and lanes.
//
// Sources: CDNA3 and CDNA4 documents, "General input and output layout" and the tables of "Sparse Matrices"; RDNA3 and
// RDNA4 documents, "Wave Matrix Multiply Accumulate". All layouts of gfx908, gfx90a, gfx942, gfx11 and gfx12 were
// compared with AMD's matrix instruction calculator. The layout of gfx950's F8F6F4 is documented only in figures; it
// follows AMD's composable_kernel (test/mx_mfma_op).
#pragma once

#include "sim/machine/matrix/elements.hpp"

namespace rapt::sim::matrix {

// The generation whose layout an instruction has.
enum class Family : std::uint8_t { mfma, smfmac, scaled, wmma_gfx11, wmma_gfx12, swmmac };

struct Shape {
  unsigned m, n, k, blocks = 1;
};

// A and B. A lane holds `run` consecutive k, the next group of lanes the next `run`; after the last group, the first
// one continues with its next `run` elements. A group has one lane for each row (column) of all blocks.
struct InputLayout {
  unsigned side;      // rows of A or columns of B in a block
  unsigned blocks;    // they follow each other in the lanes of a group
  unsigned groups;    // of lanes
  unsigned elements;  // a lane holds
  unsigned run;
  bool swapped = false;  // of four groups the middle ones change places

  struct Place {
    unsigned element, lane;  // the lane of row (column) 0; the others follow
  };
  constexpr Place place(unsigned block, unsigned k) const {
    const unsigned order = k / run % groups;
    const unsigned group = swapped ? order >> 1 | (order & 1) << 1 : order;
    return {k / (run * groups) * run + k % run, (group * blocks + block) * side};
  }
};

// C and D: `height` consecutive rows of a block are in consecutive items (registers, for f64 register pairs) of a lane,
// the next `height` rows in the next N lanes. `abreast` blocks share an item; the others are in the next items. If
// blocks share one (f64 4x4x4), lanes count blocks first, then rows, in the calculator and on hardware (measured for
// ROCm's fpsan); the CDNA3 document's formula has the opposite order.
struct OutputLayout {
  unsigned m, n, height, abreast, lanes;
  bool swapped = false;  // of four strips the middle ones change places
  struct Place {
    unsigned item, lane;  // the lane of column 0; the others follow
  };
  constexpr Place place(unsigned block, unsigned row) const {
    const unsigned strips = lanes / abreast / n, strip = row / height;  // strips of a block in one item
    const unsigned items = m / strips;                                  // a block takes
    const unsigned order = strip % strips, position = swapped ? order >> 1 | (order & 1) << 1 : order;
    return {row % height + height * (strip / strips) + items * (block / abreast),
            n * (position * abreast + block % abreast)};
  }
};

constexpr InputLayout input_layout(Family family, Shape s, unsigned side, unsigned k, Element type, unsigned lanes,
                                   bool is_b) {
  const bool sparse = family == Family::smfmac || family == Family::swmmac;
  if (family == Family::wmma_gfx12 || family == Family::swmmac) {
    const unsigned size = bits(type);
    unsigned groups = lanes / 16;
    if (size == 4 && k == 16) groups = 2;  // in a wave of 64 only the first 32 lanes
    const unsigned elements = k / groups;
    const bool wide_b = is_b && sparse;  // the dense operand of a sparse product
    const unsigned run = size == 16 && lanes == 32 ? (wide_b ? 8 : 4) : elements;
    return {16, 1, groups, elements, run, groups == 4 && size != 16};
  }
  const unsigned groups = lanes / (side * s.blocks), elements = k / groups;
  unsigned run = elements;
  if (family == Family::scaled) run = bits(type) == 8 ? 16 : 32;
  if (sparse && is_b && elements * bits(type) > 128)
    run = elements / 2;  // gfx950's wide forms: two narrow ones in turn
  return {side, s.blocks, groups, elements, run};
}

constexpr OutputLayout output_layout(Family family, Shape s, Element type, unsigned lanes) {
  if (family == Family::wmma_gfx12 || family == Family::swmmac)
    return {16, 16, lanes == 32 ? 8U : 4U, 1, lanes, lanes == 64};
  const unsigned height = type == Element::f64 ? 1 : 4;
  const unsigned block_lanes = s.n * s.m / height;
  return {s.m, s.n, height, block_lanes >= 64 ? 1 : 64 / block_lanes, lanes};
}

}  // namespace rapt::sim::matrix
