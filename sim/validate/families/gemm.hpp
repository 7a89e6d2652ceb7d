// What the GEMM families share: c[m, n] = sum over k of a[m, k] * b[n, k].
#pragma once

#include "sim/validate/family.hpp"

namespace rapt::sim::validate {

struct GemmSize {
  std::uint32_t m, n, k;
  std::uint32_t splits;      // parts of k, summed up by different workgroups
  std::uint32_t k_per_part;  // whole steps; the last part may be shorter, or empty
};

class GemmFamily : public Family {
 public:
  Work work(const Target& target, const Shape& shape) const override;
  Shape small(const Target& target, const Shape& shape) const override;

 protected:
  struct Facts {
    MatrixType type;
    double bytes_per_input;    // an element of a and b, scales aside
    std::uint32_t k_per_step;  // k is a multiple of it
  };
  virtual Facts facts() const = 0;
  virtual GemmSize size(const Target& target, const Shape& shape) const = 0;
  virtual double bytes_per_output(const Shape& shape) const = 0;  // an element of c
  virtual double bytes_besides(const GemmSize& size) const = 0;   // scales and bias

  // M, N and K. N must be a multiple of the tile's, and K a multiple of k_per_step.
  GemmSize whole_tiles(const Target& target, const Shape& shape, std::uint32_t splits) const;
};

constexpr std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

// The place of `byte` of `row` in a matrix shuffled for the matrix instructions. Tiles have 16 rows and 32 bytes, in
// two halves of 16 bytes; a half lies row after row.
std::size_t shuffled(std::size_t row, std::size_t byte, std::size_t bytes_per_row);
// The same for fp4: the element at which element k of `row` is.
std::size_t shuffled_fp4(std::size_t row, std::size_t k, std::size_t k_per_row);
// The scales of fp4, one for each block of a row, in tiles of 32 rows and 8 blocks: [4 blocks, 16 rows, 2 groups of
// blocks, 2 groups of rows].
std::size_t shuffled_scale(std::size_t row, std::size_t block, std::size_t blocks_per_row);

// The operands in double, scales applied, row after row.
class GemmReference {
 public:
  using Element = std::function<double(std::size_t row, std::size_t column)>;
  GemmReference(const GemmSize& size, const Element& a, const Element& b);
  // output(m, n) is the kernel's c. Each rounding has a relative error of up to `rounding`: there is one, or one of
  // each part and one of each sum if k is split.
  Comparison compare(const Element& output, double rounding) const;

 private:
  GemmSize size_;
  std::vector<double> a_, b_;  // [m, k], [n, k]
};

// To the nearest bf16 or f32, and of kernels that only drop the low bits.
constexpr double bf16_rounding = 0x1p-8, bf16_truncation = 0x1p-7, f32_rounding = 0x1p-24;

}  // namespace rapt::sim::validate
