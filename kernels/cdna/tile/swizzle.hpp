// Rows in LDS without padding and without bank conflicts: a row's granules are permuted by the row's number, so that
// the lanes that the banks serve together, which read the same granule of consecutive rows, are in different banks.
#pragma once

#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

template <int RowBytes, int Granule = 16>
struct Swizzle {
#ifdef __gfx950__
  static constexpr int kBankBytes = 256;
#else
  static constexpr int kBankBytes = 128;
#endif
  // The largest power of two that divides both: where rows can begin within the banks.
  static constexpr int kSpan = (RowBytes & -RowBytes) < kBankBytes ? (RowBytes & -RowBytes) : kBankBytes;
  static constexpr int kRows = kBankBytes / kSpan;  // consecutive rows that begin at different banks
  static_assert(kSpan >= Granule);

  // Where byte `at` of a row is within it; its own inverse.
  DEVICE int permuted(int row, int at) { return at ^ row / kRows % (kSpan / Granule) * Granule; }
  DEVICE int place(int row, int at) { return row * RowBytes + permuted(row, at); }
};

}  // namespace rapt::amd
