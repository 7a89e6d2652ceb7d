// What later passes over the keys do: kernels/common/not_finite.hpp.
#pragma once

#include "kernels/amd/tile/raised.hpp"
#include "kernels/common/runs.hpp"
#include "kernels/common/softmax.hpp"

namespace rapt::amd {

// Replaces V, which the workgroup has just stored in LDS.
template <class T, int Waves, class Values>
DEVICE void replace(int pass, const Values& v) {
  if (pass == kAll) return;
  barrier();
#pragma nounroll
  for (int n = opaque_thread_id(); n < Values::lds_rows * Values::row_elements; n += Waves * kWave) {
    auto* const x = reinterpret_cast<typename T::element*>(v.row(n / Values::row_elements)) + n % Values::row_elements;
    *x = T::round(replaced(pass, T::to_float(*x)));
  }
}

// A fragment of 16-bit elements with 0 in place of Inf and NaN, whose exponents have all bits set.
template <class T>
DEVICE u32x4 finite(u32x4 fragment) {
  constexpr uint32_t exponent = T::infinity;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t x = fragment[i], low = x & 0xffff, high = x & 0xffff0000;
    fragment[i] = ((low & exponent) == exponent ? 0 : low) | ((high >> 16 & exponent) == exponent ? 0 : high);
  }
  return fragment;
}

// Whether an element of the lane's column is Inf or NaN.
template <int DimTiles>
DEVICE bool not_finite(const Tile (&o)[DimTiles]) {
  Tile zero = {};  // 0 times each element: NaN if it is not finite
#pragma unroll
  for (int t = 0; t < DimTiles; ++t) zero = __builtin_elementwise_fma(o[t], Tile{}, zero);
  float sum = 0;
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) sum += zero[r];
  return sum != sum;
}
// The same of a row of O^T in the first pass, where the logits do not explain it. Raised ones explain nothing.
template <class T, bool General, int DimTiles>
DEVICE bool not_finite(const Softmax<T, General>& softmax, const Tile (&o)[DimTiles]) {
  return not_finite(o) && (kRaises<T> || softmax.sum == softmax.sum);
}

// Adds an infinity or NaN to the elements of this lane's row of out whose weight is not 0.
template <class T, int Tiles>
DEVICE void add_where_weighted(char* row, int dims, int lane, float x, const Tile (&weights)[Tiles]) {
  using element = typename T::element;
  constexpr int size = sizeof(element);
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) {
      const int dim = t * kTileRows + Matrix<T>::element(r, lane / kTile);
      if (dim >= dims || weights[t][r] == 0) continue;
      char* const p = row + dim * size;
      store_unaligned<element, size>(p, T::round(T::to_float(load_unaligned<element, size>(p)) + x));
    }
}

// Stores this lane's row of a run's result, as store_result() does; of a scaled run only what replaces Inf and NaN.
template <class T, int Tiles>
DEVICE void store_run(int run, char* row, int dims, bool aligned, int lane, float factor, const Tile (&o)[Tiles]) {
  using element = typename T::element;
  constexpr int size = sizeof(element);
  if (!is_scaled<T>(run)) return store_result<T>(row, dims, aligned, lane, factor, o);
#pragma unroll
  for (int t = 0; t < Tiles; ++t)
#pragma unroll
    for (int r = 0; r < kRegisters; ++r) {
      const int dim = t * kTileRows + Matrix<T>::element(r, lane / kTile);
      char* const p = row + dim * size;
      if (dim < dims && !is_finite(T::to_float(load_unaligned<element, size>(p))))
        store_unaligned<element, size>(p, T::round(o[t][r] * (factor * unscaled<T>(run))));
    }
}

// Does a backward kernel's runs, until one says that no other must follow. Returns whether there was a second one.
template <class T, auto Kernel>
DEVICE bool run_until_finite(char* lds) {
  int run = kFirstRun;
  if constexpr (kRaises<T>) {
    run = opaque_copy(run);  // in a vector register: these kernels have no scalar one left
#pragma nounroll
    while (uniform(run) < kRuns<T> && Kernel(opaque_copy(arguments<BackwardArguments>()), lds, uniform(run)))
      run = opaque_copy(run + 1);
    return uniform(run) > kFirstRun;
  }
#pragma nounroll
  while (run < kRuns<T> && Kernel(opaque_copy(arguments<BackwardArguments>()), lds, run)) ++run;
  return run > kFirstRun;
}

// True in every lane of a workgroup if `yes` is true in any. Waves exchange it through LDS, whose contents are lost.
template <int Waves>
DEVICE bool vote(bool yes, char* lds) {
  int* const words = reinterpret_cast<int*>(lds);
  const int thread = opaque_thread_id();
  barrier();
  words[thread / kWave] = any_lane(yes);
  barrier();
  return any_lane(words[thread % Waves] != 0);
}

}  // namespace rapt::amd
