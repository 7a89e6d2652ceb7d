// Parses names of matrix instructions, and gives the places of their elements. Written from the formulas of the CDNA3
// document ("General input and output layout") and the tables of the RDNA3 and RDNA4 documents.
#pragma once

#include "sim/machine/core/handlers.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <string>
#include <vector>

namespace rapt::sim::test {

struct MatrixName {
  std::string name;
  Arch arch;
  unsigned lanes;
  std::string a, b, d;  // types: f64 f32 xf32 f16 bf16 i8 iu8 iu4 fp8 bf8 fp6 bf6 fp4
  unsigned m = 0, n = 0, k = 0, blocks = 1;
  bool sparse = false;
};

// Those of the decoder's tables, except for F8F6F4.
std::vector<MatrixName> matrix_names(Arch arch, unsigned lanes);
MatrixName parse_matrix_name(const std::string& name, Arch arch, unsigned lanes);

unsigned type_bits(const std::string& type);
// The bits of a small integer in the type: -8 to 7, for floats as far as the type goes.
std::uint64_t encode_small(const std::string& type, Arch arch, int value);

struct Place {
  unsigned bit;  // counted from the operand's first register
  unsigned lane;
};
// The place of a stored element: if A is sparse, k counts stored elements.
std::vector<Place> place_a(const MatrixName& m, unsigned block, unsigned i, unsigned k);  // gfx11: every copy
std::vector<Place> place_b(const MatrixName& m, unsigned block, unsigned k, unsigned j);
Place place_d(const MatrixName& m, unsigned block, unsigned i, unsigned j);

// Puts bits at a place of the operand that begins at register `base`.
void put(OneWave& w, unsigned base, Place at, unsigned bits, std::uint64_t value);
std::uint64_t get(OneWave& w, unsigned base, Place at, unsigned bits);

}  // namespace rapt::sim::test
