// One matrix instruction as the arithmetic sees it: rows of the result, each N values in adjacent lanes of a register.
//
// AMD documents no order of summation. Sums::measured follows what was measured on CDNA1, CDNA2 and CDNA3, and
// reproduced bit for bit by Microsoft's MMA-Sim (P. Xie et al., arXiv 2511.10909v2):
//
//   f32, f64          fused multiply-adds in the order of k
//   gfx908 f16, bf16  4 products (bf16: 2) and the sum so far added exactly, rounded once
//   gfx90a f16, bf16  products added in pairs, pairs of pairs (the old bf16 forms only pairs), then to the sum;
//                     denormals flushed
//   gfx942 f16, bf16  8 products cut to 24 bits below the largest one's exponent, then added to the sum, cut likewise
//   gfx942 xf32, fp8  the same with 4 and with 16 products; fp8's even and odd ones apart
//
// It takes gfx950 to be as gfx942. For f16, bf16, xf32 and fp8 on gfx908, gfx942 and gfx950 it takes three to six times
// as long as Sums::fused, fused multiply-adds in the order of k, which is therefore the default.
//
// Nothing is known of gfx950's F8F6F4 forms: here a block of 32 k is summed exactly, then rounded into the sum. Nothing
// is known of RDNA: here fused multiply-adds in the order of k, with f16 and bf16 results rounded once at the end.
#pragma once

#include <cstdint>

namespace rapt::sim::matrix {

enum class Sums : std::uint8_t { fused, measured };
// RAPT_SIM_MATRIX=measured asks for the measured ones.
Sums sums();
void set_sums(Sums sums);

struct Tile {
  unsigned rows;    // of a block
  unsigned k;       // products a value sums up
  unsigned blocks;  // independent blocks, or strips of rows
  unsigned a_stride = 1;
  // A's value for row r and step k of block b is a[a_at[b * k_count + k] + r * a_stride]; B's N values are at
  // b[b_steps(block, r)[k]].
  const float* a;
  const float* b;
  const std::uint16_t* a_at;
  const std::uint16_t* b_at;
  bool b_by_row = false;  // sparse A: the steps of B differ from row to row
  // Row r of block b of C is N words at c + c_at[b * rows + r], its result at d + d_at[b * rows + r].
  const std::uint32_t* c;
  std::uint32_t* d;
  const std::uint16_t* c_at;
  const std::uint16_t* d_at;
  int smallest_exponent_a = -126, smallest_exponent_b = -126;  // of a normal number of the type
  bool saturate = false;                                       // integers
  unsigned a_count = 0, b_count = 0;                           // values in a and b

  const std::uint16_t* b_steps(unsigned block, unsigned row) const {
    return b_at + (b_by_row ? block * rows + row : block) * k;
  }
};

// A kernel for N = 4, 16 or 32 columns.
using Kernel = void (*)(const Tile&);
struct Kernels {
  Kernel n4, n16, n32;
  Kernel operator[](unsigned n) const { return n == 4 ? n4 : n == 16 ? n16 : n32; }
};

extern const Kernels fused_kernels;          // each product added with a fused multiply-add
extern const Kernels exact_product_kernels;  // the same if a product of floats is exact: f16, fp8
extern const Kernels exact4_kernels, exact2_kernels;
extern const Kernels pairs4_kernels, pairs2_kernels;
extern const Kernels truncated_kernels;  // groups of 8 (4 where k is 4)
extern const Kernels truncated4_kernels, truncated_fp8_kernels;
extern const Kernels integer_kernels;

}  // namespace rapt::sim::matrix
