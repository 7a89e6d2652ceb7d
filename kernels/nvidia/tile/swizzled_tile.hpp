// A tile of rows of q, K or V in shared memory, copied and read by one wave. Rows follow one another without gaps, and
// their 16-byte chunks change places with the row, so that the eight rows of a matrix that load_matrices() reads lie in
// different banks. Unlike rows with gaps, the 128 bytes of a line of memory go to 128 aligned bytes: one request of L2,
// where rows with gaps need three.
#pragma once

#include "kernels/nvidia/isa/mma.hpp"
#include "kernels/nvidia/tile/not_finite.hpp"

namespace rapt::nvidia {

template <class T, int Dims, int Rows>
struct SwizzledTile {
  using element = typename T::element;
  static constexpr int kSize = static_cast<int>(sizeof(element)), kDims = Dims, kRowBytes = Dims * kSize;
  static constexpr int kBytes = Rows * kRowBytes, kAligned = 128;
  static constexpr int kAcross = 8, kDown = kWave / kAcross;  // lanes of a copy: 16 bytes each of a line of each row
  static_assert(kSize == 2 && kRowBytes % kAligned == 0 && Rows % kDown == 0);

  char* shared;  // a multiple of kAligned
  int lane;

  DEVICE_MEMBER element* at(int row, int x) const {
    return reinterpret_cast<element*>(shared + row * kRowBytes + (x * kSize ^ swizzle(row)));
  }

  // As in SharedRows. Rows are multiples of 8.
  DEVICE_MEMBER Fragment operand_a(int row, int dim) const {
    return load_matrices(address(lane % 16, lane / 16, row, dim));
  }
  DEVICE_MEMBER Fragment operands_b(int row, int dim) const {
    return load_matrices(address(lane / 16 * 8 + lane % 8, lane / 8 % 2, row, dim));
  }
  DEVICE_MEMBER Fragment operands_b_transposed(int row, int dim) const {
    return load_transposed(address(lane % 16, lane / 16, row, dim));
  }

  // Starts to copy rows [first, first + Rows) of the rows at `data`, `seq` bytes apart. Rows outside of [begin, end)
  // and dimensions from `dims` on are taken as zeros.
  DEVICE_MEMBER void load(const char* data, int64_t seq, int dims, int begin, int end, int first) const {
    if (__builtin_expect(!aligned(data, seq) || dims * kSize % 16 != 0, false))
      return copy(data, seq, dims, begin, end, first);
    const int row = lane / kAcross, column = lane % kAcross * 16;
    const char* from = data + (first + row) * seq + column;
    const uint32_t to = shared_address(shared) + row * kRowBytes + (column ^ swizzle(row));
    const bool whole = first >= begin && first + Rows <= end && dims == Dims;
#pragma unroll
    for (int i = 0; i < Rows; i += kDown, from += kDown * seq)
#pragma unroll
      for (int part = 0; part < kRowBytes; part += kAligned) {
        const uint32_t place = (to ^ swizzle(i)) + i * kRowBytes + part;
        const bool there = first + row + i >= begin && first + row + i < end && column + part < dims * kSize;
        if (whole) copy_async(place, from + part);
        else copy_async(place, there ? from + part : data, there);
      }
  }

 private:
  DEVICE int swizzle(int row) { return row % 8 * 16; }
  DEVICE_MEMBER uint32_t address(int lane_row, int half, int row, int dim) const {
    const uint32_t base = shared_address(shared) + lane_row * kRowBytes + (half * 16 ^ swizzle(lane_row));
    const int byte = dim * kSize;
    uint32_t at_dim = base ^ byte % kAligned;
    // Long rows compute it each time anew: keeping all these addresses for a loop would take too many registers.
    if constexpr (kRowBytes > 256) asm volatile("xor.b32 %0, %1, %2;" : "=r"(at_dim) : "r"(base), "r"(byte % kAligned));
    return at_dim + row * kRowBytes + byte / kAligned * kAligned;
  }

  // Element by element.
  DEVICE_MEMBER void copy(const char* data, int64_t seq, int dims, int begin, int end, int first) const {
#pragma unroll 1
    for (int n = lane; n < Rows * Dims; n += kWave) {
      const int row = n / Dims, dim = n % Dims;
      element x = 0;
      if (first + row >= begin && first + row < end && dim < dims)
        x = *reinterpret_cast<const element*>(data + (first + row) * seq + dim * kSize);
      *at(row, dim) = x;
    }
  }
};

// As in not_finite.hpp, for one wave.
template <bool Dropout, class T, int Dims, int Rows>
DEVICE void replace(int pass, const SwizzledTile<T, Dims, Rows>& v) {
  if (pass == kAll) return;
#pragma unroll 1
  for (int n = v.lane; n < Rows * Dims; n += kWave) {
    auto& x = *v.at(n / Dims, n % Dims);
    x = T::round(replaced<Dropout>(pass, T::to_float(x)));
  }
  wave_barrier();
}

}  // namespace rapt::nvidia
