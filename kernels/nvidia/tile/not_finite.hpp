// Later passes over the keys, as kernels/common/not_finite.hpp describes them.
#pragma once

#include "kernels/common/runs.hpp"
#include "kernels/nvidia/isa/arguments.hpp"
#include "kernels/nvidia/tile/staged_rows.hpp"

namespace rapt::nvidia {

// Runs a forward or split kernel's passes, until a pass says that no other must follow.
template <bool General, auto Pass, class KernelArguments>
DEVICE void run_passes(KernelArguments& arguments, char* shared) {
#pragma unroll 1
  for (int pass = kAll; pass < passes<General>(arguments.problem); ++pass)
    if (!Pass(arguments, shared, pass)) break;
}

// Makes a kernel's runs (runs.hpp), until a run says that no other must follow. Returns true if there was a second run.
template <class T, auto Run>
DEVICE bool run_until_finite(BackwardArguments& arguments, char* shared) {
  int run = kFirstRun;
#pragma unroll 1
  while (run < kRuns<T> && Run(arguments, shared, run)) ++run;
  return run > kFirstRun;
}

// Replaces elements of V, which these threads (a workgroup, or one wave) have just staged.
template <bool Dropout, int Rows, int Threads, class T, int Dims>
DEVICE void replace(int pass, const SharedRows<T, Dims>& v) {
  if (pass == kAll) return;
#pragma unroll 1
  for (int n = v.thread; n < Rows * Dims; n += Threads) {
    auto& x = v.at(n / Dims)[n % Dims];
    x = T::round(replaced<Dropout>(pass, T::to_float(x)));
  }
  if constexpr (Threads == kWave) wave_barrier();
  else barrier();
}
template <bool Dropout, class T, int Dims, int Rows, int Threads>
DEVICE void replace(int pass, const StagedRows<T, Dims, Rows, Threads>& v) {
  replace<Dropout, Rows, Threads, T, Dims>(pass, v);
}

// The same for Inf and NaN in rows that a later product multiplies by zeros: they count as 0.
template <int Rows, int Threads, class T, int Dims>
DEVICE void remove_not_finite(const SharedRows<T, Dims>& rows) {
  barrier();  // they have been read
  replace<false, Rows, Threads>(kFinite, rows);
}
template <class T, int Dims, int Rows, int Threads>
DEVICE void remove_not_finite(const StagedRows<T, Dims, Rows, Threads>& rows) {
  remove_not_finite<Rows, Threads, T, Dims>(rows);
}

// True if an element of the lane's rows of O is Inf or NaN; `half` is as in TileLogits.
template <int Tiles>
DEVICE bool not_finite(const TileC (&o)[Tiles], int half) {
  float zero = 0;  // 0 times each element: NaN if it is not finite
#pragma unroll
  for (int d = 0; d < Tiles; ++d) zero += 0 * o[d][2 * half] + 0 * o[d][2 * half + 1];
  return zero != zero;
}

}  // namespace rapt::nvidia
