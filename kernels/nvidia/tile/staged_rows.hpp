// A tile of rows of q, K or V in shared memory. Rows are 16 bytes longer than their elements, so that the eight rows of
// a matrix that load_matrices() reads lie in different banks, for every multiple of 16 bytes.
#pragma once

#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

// Rows of `Dims` elements, which waves read as operands.
template <class T, int Dims>
struct SharedRows {
  using element = typename T::element;
  static constexpr int kSize = static_cast<int>(sizeof(element)), kDims = Dims;
  static constexpr int kRowBytes = Dims * kSize, kStride = kRowBytes + 16;

  char* shared;
  int thread;

  DEVICE_MEMBER element* at(int row) const { return reinterpret_cast<element*>(shared + row * kStride); }
  // The same rows, from row `row` and element `dim` on.
  DEVICE_MEMBER SharedRows from(int row, int dim) const { return {shared + offset(row, dim), thread}; }

  // 16 rows from `row` on and 32 bytes of each from element `dim` on, each lane's part. As operand A, whose rows they
  // are.
  DEVICE_MEMBER Fragment operand_a(int row, int dim) const {
    return load_matrices(base(lane() % 16, lane() / 16) + offset(row, dim));
  }
  // As two operands B: their columns are rows 0 to 7 and 8 to 15.
  DEVICE_MEMBER Fragment operands_b(int row, int dim) const {
    return load_matrices(base(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2) + offset(row, dim));
  }
  // kStep rows and 16 elements, as two operands B: their columns are elements 0 to 7 and 8 to 15.
  DEVICE_MEMBER Fragment operands_b_transposed(int row, int dim) const {
    if constexpr (kSize == 2) {
      return load_transposed(base(lane() % 16, lane() / 16) + offset(row, dim));
    } else {  // rows are permuted (mma.hpp)
      const element* const first = at(row + lane() % 4 * 2) + dim + lane() / 4;
      const auto load = [&](int down, int across) { return bits(first[down * (kStride / kSize) + across]); };
      return {{load(0, 0), load(1, 0), load(0, 8), load(1, 8)}};
    }
  }
  // 16 elements of 16 rows, as operand A whose columns the rows are. For 16-bit types.
  DEVICE_MEMBER Fragment operand_a_transposed(int row, int dim) const {
    return load_transposed(base(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2) + offset(row, dim));
  }

 private:
  DEVICE_MEMBER int lane() const { return thread % kWave; }
  DEVICE int offset(int row, int dim) { return row * kStride + dim * kSize; }
  DEVICE_MEMBER uint32_t base(int row, int half) const { return shared_address(shared) + row * kStride + half * 16; }
};

// `Rows` rows of global memory, which a workgroup or a wave copies to shared memory.
template <class T, int Dims, int Rows, int Threads>
struct StagedRows : SharedRows<T, Dims> {
  using Base = SharedRows<T, Dims>;
  using Base::kSize, Base::kRowBytes, Base::kStride, Base::shared, Base::thread, Base::at;
  using typename Base::element;
  static constexpr int kBytes = Rows * kStride;
  // A wave copies whole groups of `kAcross` times 16 bytes of a row.
  static constexpr int kAcross = Threads > 8 * Rows ? Threads / Rows : kRowBytes % 128 == 0 ? 8 : 4;
  static constexpr int kDown = Threads / kAcross;
  static_assert(Rows % kDown == 0 && kRowBytes % (16 * kAcross) == 0);

  const char* data;  // row 0 of the sequence
  int64_t seq;       // stride in bytes
  int head_dim;
  int begin, end;  // rows to read; other rows are taken as zeros
  bool vectors;    // 16 bytes at a time

  DEVICE_MEMBER StagedRows(const char* data, int64_t seq, int head_dim, int begin, int end, char* shared, int thread)
      : Base{shared, thread},
        data(data),
        seq(seq),
        head_dim(head_dim),
        begin(begin),
        end(end),
        vectors(aligned(data, seq) && head_dim * kSize % 16 == 0) {}

  // Starts to copy rows [first, first + Rows).
  DEVICE_MEMBER void load(int first) const {
    if (!vectors) return copy(first);
    const int row = thread / kAcross, column = thread % kAcross * 16;
    const char* from = data + (first + row) * seq + column;
    const uint32_t to = shared_address(shared + row * kStride + column);
    if (first >= begin && first + Rows <= end && head_dim == Dims) {
#pragma unroll
      for (int i = 0; i < Rows; i += kDown, from += kDown * seq)
#pragma unroll
        for (int part = 0; part < kRowBytes; part += 16 * kAcross) copy_async(to + i * kStride + part, from + part);
    } else {
#pragma unroll
      for (int i = 0; i < Rows; i += kDown, from += kDown * seq)
#pragma unroll
        for (int part = 0; part < kRowBytes; part += 16 * kAcross) {
          const bool there = first + row + i >= begin && first + row + i < end && column + part < head_dim * kSize;
          copy_async(to + i * kStride + part, there ? from + part : data, there);
        }
    }
  }

  // Element by element.
  DEVICE_MEMBER void copy(int first) const {
#pragma unroll 1
    for (int n = thread; n < Rows * Dims; n += Threads) {
      const int row = n / Dims, dim = n % Dims;
      element x = 0;
      if (first + row >= begin && first + row < end && dim < head_dim)
        x = *reinterpret_cast<const element*>(data + (first + row) * seq + dim * kSize);
      at(row)[dim] = x;
    }
  }
};

}  // namespace rapt::nvidia
