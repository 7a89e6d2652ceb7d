// The matrix unit of the target architecture, or what takes its place. Each header defines kTile and kTileRows (a
// result's columns and rows), kRegisters, Tile and Matrix<T>. Where operand B has the same elements in both halves of a
// wave, a kernel with few registers keeps one half of the elements in a lane (M::Kept). It makes the operand before the
// product (M::whole()).
#pragma once

#include "kernels/amd/isa/device.hpp"

#if defined(RAPT_CDNA)
#include "kernels/cdna/isa/mfma.hpp"
#elif defined(RAPT_DOT)
#include "kernels/dot/isa/dot.hpp"
#else
#include "kernels/rdna/isa/wmma.hpp"
#endif

namespace rapt::amd {

inline constexpr int kStepBytes = 32;  // bytes of a row in one fragment, for every type

template <class T>
inline constexpr int kParts = kTile / Matrix<T>::step;  // fragments of a tile used as an operand

// One lane's part of step c of operand A, whose row is in LDS.
template <class M>
DEVICE typename M::A fragment(const char* row, int c, int lane) {
  return *reinterpret_cast<const typename M::A*>(row + c * kStepBytes + M::a_offset(lane));
}

// What a lane of a backward kernel keeps of a step of its row: operand B if registers allow it, which saves making it
// for each product.
template <class T, int HeadDim, bool General>
using OwnStep = typename Choose<!General && HeadDim <= 64 && sizeof(typename T::element) == 2, typename Matrix<T>::B,
                                typename Matrix<T>::Kept>::type;

// Operand B from what a lane keeps of its row, M::Kept or M::B, and where that begins in each step.
template <class M, class Own>
DEVICE typename M::B whole(const Own& own) {
  if constexpr (sizeof(Own) == sizeof(typename M::B)) return own;
  else return M::whole(own);
}
template <class M, class Own>
DEVICE int own_offset(int lane) {
  return sizeof(Own) == sizeof(typename M::B) ? M::b_offset(lane) : M::kept_offset(lane);
}

// Loads a lane's fragments (type F of operand A or B, `offset` bytes into each step) of steps [0, Steps) of a row in
// memory: `dims` elements, then zeros. Reads nothing past those elements.
template <class T, class M = Matrix<T>, class F, int Steps>
DEVICE void load_fragments(const char* row, int dims, bool aligned, int offset, F (&fragments)[Steps]) {
  using element = typename T::element;
  constexpr int size = sizeof(element), count = sizeof(F) / size, chunk = 16 / size;
  const auto for_chunks = [&](auto load) {
#pragma unroll
    for (int c = 0; c < Steps; ++c)
#pragma unroll
      for (int part = 0; part < count; part += chunk) {
        const u32x4 x = load(c * M::step + part);
#pragma unroll
        for (int i = 0; i < 4; ++i) fragments[c][part / chunk * 4 + i] = x[i];
      }
  };
  if (aligned && dims >= Steps * M::step) {
    for_chunks([&](int dim) { return load_unaligned<u32x4, size>(row + offset + dim * size); });
  } else if (aligned && dims % chunk == 0) {
    const int from = opaque_copy(offset) / size;
    for_chunks([&](int dim) {
      u32x4 x = {};
      if (dim + from < dims) x = load_unaligned<u32x4, size>(row + (dim + from) * size);
      return x;
    });
  } else {
    const int from = opaque_copy(offset) / size;
#pragma unroll
    for (int c = 0; c < Steps; ++c) {
      vec<element, count> x = {};
      if (dims > 0) {
#pragma unroll
        for (int i = 0; i < count; ++i) {
          const int dim = c * M::step + from + i;
          const element value = load_unaligned<element, size>(row + min(dim, dims - 1) * size);
          x[i] = dim < dims ? value : element{};
        }
      }
      fragments[c] = __builtin_bit_cast(F, x);
    }
  }
}

// Stores this lane's row of out, a column of O^T: `dims` elements, multiplied by `factor`.
template <class T, int Tiles>
DEVICE void store_result(char* row, int dims, bool aligned, int lane, float factor, const Tile (&o)[Tiles]) {
  using M = Matrix<T>;
  using element = typename T::element;
  constexpr int size = sizeof(element);
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; r += M::each) {
      vec<element, M::each> out;
#pragma unroll
      for (int i = 0; i < M::each; ++i) out[i] = T::round(o[t][r + i] * factor);
      const int dim = t * kTileRows + M::element(r, lane / kTile);
      if (aligned && dim + M::each <= dims) store_unaligned<decltype(out), size>(row + dim * size, out);
      else
#pragma unroll
        for (int i = 0; i < M::each; ++i)
          if (dim + i < dims) store_unaligned<element, size>(row + (dim + i) * size, out[i]);
    }
}

}  // namespace rapt::amd
