// Operands of mma.sync straight from global memory, for the rare kernels' parts that compute results again.
#pragma once

#include "kernels/common/block.hpp"
#include "kernels/common/not_finite.hpp"
#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

// Rows of a tensor. Rows from `rows` on, and elements from `dims` on, an even number, do not exist and count as 0.
template <class T>
struct RowsInMemory {
  using element = typename T::element;
  const char* data;  // row 0
  int64_t seq;
  int rows, dims;

  template <class Rows>
  DEVICE RowsInMemory of(const Rows& rows, int batch, const Span& span, int head, int dims) {
    return {first_row_of(rows, batch, span, head), rows.seq, span.count, dims};
  }

  DEVICE_MEMBER element at(int row, int dim) const {
    return row < rows && dim < dims ? reinterpret_cast<const element*>(data + row * seq)[dim] : element{0};
  }
  DEVICE_MEMBER uint32_t neighbours(int row, int dim) const {
    return row < rows && dim < dims ? *reinterpret_cast<const uint32_t*>(data + row * seq + dim * 2) : 0;
  }
  // 16 rows and elements, a lane's part.
  DEVICE_MEMBER Fragment operand_a(int row, int dim, int lane) const {
    const int r = row + lane / 4, d = dim + 2 * (lane % 4);
    return {{neighbours(r, d), neighbours(r + 8, d), neighbours(r, d + 8), neighbours(r + 8, d + 8)}};
  }
  // c += a * these rows: 16 from `row` on, 8 elements from `dim` on, each replaced by of(element).
  template <class Of>
  DEVICE_MEMBER void multiply_by(TileC& c, const Fragment& a, int row, int dim, int lane, const Of& of) const {
    const int r = row + 2 * (lane % 4), d = dim + lane / 4;
    const auto value = [&](int i) { return uint32_t{T::round(of(T::to_float(at(i, d))))}; };
    multiply(c, a, value(r) | value(r + 1) << 16, value(r + 8) | value(r + 9) << 16, T());
  }

  // Whether up to 16 rows from `first` on are finite. A warp finds out.
  DEVICE_MEMBER bool finite(int first, int lane) const {
    float zero = 0;  // 0 times each element
#pragma unroll 1
    for (int row = first; row < min(first + kTile, rows); ++row)
#pragma unroll 1
      for (int dim = lane; dim < dims; dim += kWave) zero += 0 * T::to_float(at(row, dim));
    return !any_lane(zero != zero);
  }
};

// c += 16 rows of `a` from `row` on, times 16 rows of `b` from `other` on, transposed.
template <class T>
DEVICE void add_products_of_rows(TileC (&c)[1][2], const RowsInMemory<T>& a, int row, const RowsInMemory<T>& b,
                                 int other, int lane) {
#pragma unroll 1
  for (int dim = 0; dim < a.dims; dim += 16) {
    const Fragment of_a = a.operand_a(row, dim, lane), of_b = b.operand_a(other, dim, lane);
    multiply(c[0][0], of_a, of_b.x[0], of_b.x[2], T());
    multiply(c[0][1], of_a, of_b.x[1], of_b.x[3], T());
  }
}

}  // namespace rapt::nvidia
