// A tile of rows of q, K or V in shared memory. Rows are 16 bytes longer than their elements, so that the eight rows of
// a matrix that load_matrices() reads lie in different banks, for every multiple of 16 bytes.
#pragma once

#include "kernels/nvidia/isa/mma.hpp"

namespace rapt::nvidia {

template <class T, int Dims, int Rows, int Threads>
struct StagedRows {
  using element = typename T::element;
  static constexpr int kRowBytes = Dims * 2, kStride = kRowBytes + 16, kBytes = Rows * kStride;
  // A wave's copies are of whole groups of `kAcross` times 16 bytes of a row.
  static constexpr int kAcross = Dims % 64 == 0 ? 8 : 4, kDown = Threads / kAcross;
  static_assert(Rows % kDown == 0 && kRowBytes % (16 * kAcross) == 0);

  const char* data;  // row 0 of the sequence
  int64_t seq;       // stride in bytes
  int head_dim;
  int begin, end;  // rows to read; the others are taken as zeros
  char* shared;
  int thread;
  bool vectors;  // 16 bytes at a time

  DEVICE_MEMBER StagedRows(const char* data, int64_t seq, int head_dim, int begin, int end, char* shared, int thread)
      : data(data),
        seq(seq),
        head_dim(head_dim),
        begin(begin),
        end(end),
        shared(shared),
        thread(thread),
        vectors(aligned(data, seq) && head_dim % 8 == 0) {}

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
          const bool there = first + row + i >= begin && first + row + i < end && column + part < head_dim * 2;
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
        x = *reinterpret_cast<const element*>(data + (first + row) * seq + dim * 2);
      at(row)[dim] = x;
    }
  }
  DEVICE_MEMBER element* at(int row) const { return reinterpret_cast<element*>(shared + row * kStride); }

  // 16 rows from `row` on and 16 elements from `dim` on, each lane's part. As operand A: the rows are those of A.
  DEVICE_MEMBER Fragment operand_a(int row, int dim) const {
    return load_matrices(base(lane() % 16, lane() / 16) + offset(row, dim));
  }
  // As two operands B: their columns are rows 0 to 7 and 8 to 15.
  DEVICE_MEMBER Fragment operands_b(int row, int dim) const {
    return load_matrices(base(lane() / 16 * 8 + lane() % 8, lane() / 8 % 2) + offset(row, dim));
  }
  // As two operands B: their columns are elements 0 to 7 and 8 to 15.
  DEVICE_MEMBER Fragment operands_b_transposed(int row, int dim) const {
    return load_transposed(base(lane() % 16, lane() / 16) + offset(row, dim));
  }

 private:
  DEVICE_MEMBER int lane() const { return thread % kWave; }
  DEVICE int offset(int row, int dim) { return row * kStride + dim * 2; }
  DEVICE_MEMBER uint32_t base(int row, int half) const { return shared_address(shared) + row * kStride + half * 16; }
};

}  // namespace rapt::nvidia
