// One tile of V, and its fragments as operand A of V^T P^T. gfx950 transposes 16-bit elements when it reads them from
// LDS; elsewhere V is transposed on the way to LDS, or read from memory if LDS is too small.
#pragma once

#include "kernels/amd/tile/transposed_values.hpp"
#include "kernels/amd/tile/values_in_memory.hpp"
#ifdef __gfx950__
#include "kernels/amd/tile/values_in_rows.hpp"
#endif

namespace rapt::amd {

inline constexpr int kLdsLimit = 65536;  // bytes per workgroup

template <class T, int HeadDim, int KeyCount, int Waves>
struct Values {
  using Transposed = TransposedValues<T, HeadDim, KeyCount, Waves>;
#ifdef __gfx950__
  using InLds =
      typename Choose<Transposed::element_bytes == 2, ValuesInRows<T, HeadDim, KeyCount, Waves>, Transposed>::type;
#else
  using InLds = Transposed;
#endif
  using type = typename Choose<(Transposed::bytes <= kLdsLimit), InLds, ValuesInMemory<T>>::type;
};

template <class T, int HeadDim, int KeyCount, int Waves>
using StagedValues = typename Values<T, HeadDim, KeyCount, Waves>::type;

}  // namespace rapt::amd
