// The rows and the slice of the head dimension that a wave computes.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

// A wave's part of the workgroup's rows: Slices waves share a tile of rows, each with a slice of the head dimension.
template <int Slices, int Slice>
struct WavePart {
  int lane, first_row, slice;

  DEVICE WavePart of(int thread) {
    const int wave = uniform(thread / kWave);
    return {thread % kWave, wave / Slices * kTile, wave % Slices * Slice};
  }
};

}  // namespace rapt::amd
