// Rows too long for one wave's registers: `Slices` waves share 16 of them, each with a slice of the head dimension. A
// product over the head dimension is the sum of the waves' products, through shared memory.
#pragma once

#include "kernels/nvidia/tile/products.hpp"
#include "kernels/nvidia/tile/result.hpp"

namespace rapt::nvidia {

// The tile of 576 has code of its own for rows of up to 512 elements: with slices of 144, they would take longer.
template <int HeadDim>
inline constexpr int kShortRows = HeadDim > 512 ? 512 : HeadDim;
template <int HeadDim>
DEVICE bool fits(Problem& p) {
  return max(p.head_dim, p.head_dim_v) <= HeadDim;
}

// A wave's rows, from `row` of the workgroup's on, and its slice of `Dims` elements, from `dim` on.
template <int Slices, int Dims>
struct WavePart {
  int wave, lane, row, dim;

  DEVICE WavePart of(int thread) {
    const int wave = thread / kWave;
    return {wave, thread % kWave, wave / Slices * kTile, wave % Slices * Dims};
  }
  DEVICE_MEMBER bool first_slice() const { return dim == 0; }
  // The number of the slice's elements that exist in rows of `dims`.
  DEVICE_MEMBER int dims(int dims) const { return clamp(dims - dim, 0, Dims); }

  // The wave's part of a row.
  template <class T>
  DEVICE_MEMBER char* at(char* row) const {
    return row + dim * static_cast<int>(sizeof(typename T::element));
  }
  // The place in shared memory where a wave gathers its part of a result before storing it.
  template <class T>
  using Gathered = SharedRows<T, Dims>;
  template <class T>
  DEVICE_MEMBER Gathered<T> gathered(char* shared, int thread) const {
    return {shared + wave * kTile * Gathered<T>::kStride, thread};
  }
};

// S = A B^T over a slice of rows in shared memory, for 16 rows of A; 0 if none of the slice's elements exists.
template <class T, int Dims, int Columns, class Rows>
DEVICE void multiply_slices(bool exist, const Rows& a, const Rows& b, TileC (&s)[1][Columns]) {
  clear(s);
  if (!exist) return;
  if constexpr (std::is_same_v<T, fp32>) add_float_products<Dims>(a, b, s);
  else add_transposed<T, 0, Dims>([&](int, int dim) { return a.operand_a(0, dim); }, b, 0, s);
}

// Shared memory for the products of each wave, `Tiles` of 16 by 8. With `InTurn` it has room for one product, and they
// take turns.
template <int Tiles, int Slices, bool InTurn = false>
struct SliceSums {
  static constexpr int kWaveBytes = (InTurn ? 1 : Tiles) * kWave * static_cast<int>(sizeof(TileC));

  char* shared;
  int wave, lane;

  // Puts matrices of `Tiles` tiles in all. A barrier must follow, then get() of the same matrices.
  template <int... Columns>
  DEVICE_MEMBER void put(TileC (&... s)[1][Columns]) const {
    int tile = 0;
    (each(s,
          [&](TileC& x) {
            *part(wave, InTurn ? 0 : tile++) = {x[0], x[1], x[2], x[3]};
            if (!InTurn) return;
            barrier();
            add_up(0, x);
            barrier();  // it has been read
          }),
     ...);
  }

  // Every wave adds in the same order, so all have the same sums.
  template <int... Columns>
  DEVICE_MEMBER void get(TileC (&... s)[1][Columns]) const {
    if (InTurn) return;
    int tile = 0;
    (each(s, [&](TileC& x) { add_up(tile++, x); }), ...);
  }

 private:
  template <int Columns, class F>
  DEVICE void each(TileC (&s)[1][Columns], const F& f) {
#pragma unroll
    for (int n = 0; n < Columns; ++n) f(s[0][n]);
  }
  DEVICE_MEMBER void add_up(int tile, TileC& to) const {
    const int group = wave / Slices * Slices;
    float4 sum = *part(group, tile);
#pragma unroll
    for (int i = 1; i < Slices; ++i) {
      const float4 x = *part(group + i, tile);
      sum = {sum.x + x.x, sum.y + x.y, sum.z + x.z, sum.w + x.w};
    }
    to[0] = sum.x, to[1] = sum.y, to[2] = sum.z, to[3] = sum.w;
  }
  DEVICE_MEMBER float4* part(int of_wave, int tile) const {
    return reinterpret_cast<float4*>(shared + of_wave * kWaveBytes) + tile * kWave + lane;
  }
};

// A wave's slice of 16 rows in registers, as operands A.
template <class T, int Dims>
struct KeptSlice {
  Fragment x[Dims / kStep<T>];

  template <class Rows>
  DEVICE_MEMBER void load(const Rows& rows, int row, int first_dim) {
#pragma unroll
    for (int dim = 0; dim < Dims; dim += kStep<T>) x[dim / kStep<T>] = rows.operand_a(row, first_dim + dim);
  }
  DEVICE_MEMBER const Fragment& operator()(int, int dim) const { return x[dim / kStep<T>]; }
};

}  // namespace rapt::nvidia
