// The matrix unit of the architecture that is compiled for. Each header defines kTile, kRegisters, Tile, Matrix<T> and
// p_fragment<T>.
#pragma once

#include "kernels/amd/device.hpp"

#ifdef RAPT_CDNA
#include "kernels/amd/mfma.hpp"
#else
#include "kernels/amd/wmma.hpp"
#endif

namespace rapt::amd {

inline constexpr int kStepBytes = 32;  // of a row, for one fragment, in every type

// One lane's part of step c of a row in LDS.
template <class M>
DEVICE typename M::Fragment fragment(const char* row, int c, int half) {
  return *reinterpret_cast<const typename M::Fragment*>(row + c * kStepBytes + M::offset(half));
}

}  // namespace rapt::amd
