// Products with rows too long for one wave's registers. Slices waves share rows, and each keeps a slice of the head
// dimension. A wave multiplies its slice with the same slice of other rows, and the waves add up their products through
// LDS.
//
// The other rows are loaded from memory straight into fragments: waves that share rows read different slices of them.
#pragma once

#include "kernels/amd/tile/products.hpp"
#include "kernels/amd/tile/not_finite.hpp"
#include "kernels/amd/tile/raised.hpp"
#include "kernels/common/block.hpp"

namespace rapt::amd {

// A slice of the rows of one head, `dims` elements of it from `slice` on.
template <class T>
struct SliceRows {
  char* data;       // row 0
  int64_t seq;      // stride in bytes
  int slice, dims;  // dims: of the whole row
  int count;

  DEVICE_MEMBER char* at(int row) const {
    return data + row * seq + slice * static_cast<int>(sizeof(typename T::element));
  }
  // Loads a lane's part of row `row`, which must exist.
  template <class F, int Steps>
  DEVICE_MEMBER void load(int row, int offset, F (&fragments)[Steps]) const {
    load_fragments<T>(at(row), dims - slice, aligned(data, seq), offset, fragments);
  }

  // Stores a lane's row of a run's result, a column of `o`.
  template <int Tiles>
  DEVICE_MEMBER void store(int run, int row, int lane, float factor, const Tile (&o)[Tiles]) const {
    store_run<T>(run, at(row), dims - slice, aligned(data, seq), lane, factor, o);
  }

  // products += rows own^T, of the rows from `first` on. Those past the last one are masked later, so any row will do
  // for them. `own` has a row as M::Kept or M::B. Products are raised.
  template <class Own, int Steps, int Tiles>
  DEVICE_MEMBER void multiply(int first, int lane, const Own (&own)[Steps], Tile (&products)[Tiles],
                              const Raised<T>& raised) const {
    using M = Matrix<T>;
    constexpr int at_once = Steps % 3 == 0 ? 3 : 64 / sizeof(typename M::A);  // fragments held in registers
    static_assert(Steps % at_once == 0);
#pragma unroll
    for (int t = 0; t < Tiles; ++t) {
      const char* const row = at(min(first + t * kTile + M::unslot(M::a_row(lane)), count - 1));
      const int left = opaque_uniform(dims) - slice;
#pragma unroll
      for (int first_step = 0; first_step < Steps; first_step += at_once) {
        typename M::A fragments[at_once];
        load_fragments<T>(row + first_step * kStepBytes, left - first_step * M::step, aligned(data, seq),
                          M::a_offset(lane), fragments);
#pragma unroll
        for (int c = 0; c < at_once; ++c)
          products[t] = M::multiply(raised(fragments[c]), amd::whole<M>(own[first_step + c]), products[t]);
        in_order(products[t]);
      }
    }
  }
};

// `rows` is rapt_abi_rows in constant memory, `dims` its head dimension.
template <class T, class Strided>
DEVICE SliceRows<T> slice_rows(const Strided& rows, int batch, const Span& span, int head, int slice, int dims) {
  return {first_row_of(rows, batch, span, head), rows.seq, slice, dims, span.count};
}

// The products of each wave, to be summed: [wave][tile][register / 4][lane] of 4 registers.
template <int Tiles, int Slices, int Waves>
struct SliceSums {
  static constexpr int wave_bytes = Tiles * kRegisters * 4 * kWave, bytes = Waves * wave_bytes;

  char* lds;
  int wave, lane;

  template <int Count>
  DEVICE_MEMBER void store(const Tile (&s)[Count], int first_tile = 0) const {
#pragma unroll
    for (int t = 0; t < Count; ++t)
#pragma unroll
      for (int r = 0; r < kRegisters; r += 4)
        *part(wave, first_tile + t, r / 4) = f32x4{s[t][r], s[t][r + 1], s[t][r + 2], s[t][r + 3]};
  }

  // Every wave adds in the same order, so all get the same sums.
  template <int Count>
  DEVICE_MEMBER void load(Tile (&s)[Count], int first_tile = 0) const {
    const int group = wave / Slices * Slices;
#pragma unroll
    for (int t = 0; t < Count; ++t) {
#pragma unroll
      for (int r = 0; r < kRegisters; r += 4) {
        f32x4 sum = *part(group, first_tile + t, r / 4);
#pragma unroll
        for (int i = 1; i < Slices; ++i) sum += *part(group + i, first_tile + t, r / 4);
#pragma unroll
        for (int i = 0; i < 4; ++i) s[t][r + i] = sum[i];
      }
      in_order(s[t]);
    }
  }

 private:
  DEVICE_MEMBER f32x4* part(int of_wave, int tile, int quarter) const {
    return reinterpret_cast<f32x4*>(lds + of_wave * wave_bytes) + (tile * (kRegisters / 4) + quarter) * kWave + lane;
  }
};

}  // namespace rapt::amd
