// A tile of rows in shared memory, as panels of 64 columns. A row of a panel is 128 bytes, in swizzled pieces of 16
// bytes: piece i of row r is at place i ^ (r % 8). The copy engine writes this layout, and products read it.
#pragma once

#include "kernels/hopper/isa/store_matrices.hpp"
#include "kernels/hopper/isa/tensor_copy.hpp"
#include "kernels/hopper/isa/wgmma.hpp"

namespace rapt::nvidia {

template <int Rows, int Dims>
struct Panels {
  static constexpr int kColumns = 64, kRowBytes = 128, kCount = Dims / kColumns;
  static constexpr int kPanelBytes = Rows * kRowBytes, kBytes = kCount * kPanelBytes;
  static constexpr int kStepColumns = 16;  // of one product
  uint32_t address;                        // a multiple of 1,024

  // Starts the copy of rows from `row` on. The tensor's box is a panel.
  DEVICE_MEMBER void load(TensorMap& map, Barrier arrival, int row, int head, int batch) const {
    arrival.arrive_expecting(kBytes);
    copy(map, arrival, row, head, batch);
  }
  // The same, where the barrier already expects the bytes.
  DEVICE_MEMBER void copy(TensorMap& map, Barrier arrival, int row, int head, int batch) const {
#pragma unroll 1
    for (int p = 0; p < kCount; ++p)
      copy_box(address + p * kPanelBytes, map, arrival, {p * kColumns, row, head, batch});
  }

  // Stores 16 rows from `row` on of 16 columns, number `i` of the tile's columns. A warp does.
  DEVICE_MEMBER void store(int row, int i, const Fragment& f, int lane) const {
    store_matrices(piece(row + lane % 16, i, lane), f);
  }
  // Loads 16 rows of such columns: row l of the fragment is the row that lanes l and 16 + l name. A warp does.
  DEVICE_MEMBER Fragment load(int row, int i, int lane) const { return load_matrices(piece(row, i, lane)); }

  // Rows from `first` on as operand A, or B transposed, of products along their columns.
  DEVICE_MEMBER MatrixDescriptor rows(int first) const { return MatrixDescriptor::at(address + first * kRowBytes, 0); }
  // Where the product's step `i` begins.
  DEVICE constexpr int along_columns(int i) {
    constexpr int kSteps = kColumns / kStepColumns;
    return i / kSteps * kPanelBytes + i % kSteps * kStepColumns * 2;
  }

  // All rows as operand B, or A transposed, of products along the rows.
  DEVICE_MEMBER MatrixDescriptor transposed() const { return MatrixDescriptor::at(address, kPanelBytes); }
  DEVICE constexpr int along_rows(int i) { return i * kStepColumns * kRowBytes; }

 private:
  // Where a lane finds its 16 bytes of a row: lanes below 16 the first 8 columns, the others the last 8.
  DEVICE_MEMBER uint32_t piece(int row, int i, int lane) const {
    return address + i / 4 * kPanelBytes + row * kRowBytes + ((lane / 16 ^ row % 8) * 16 ^ i % 4 * 32);
  }
};

}  // namespace rapt::nvidia
