// Later passes over the keys, as kernels/common/not_finite.hpp describes them.
#pragma once

#include "kernels/common/huge.hpp"
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

// A scaled run (runs.hpp) scales dP and delta: then no weight becomes 0, as it would if P were scaled, and a huge lse
// stays as it is.
template <class T>
DEVICE float gradient_scale(int run) {
  if (!is_scaled<T>(run)) return 1;
  return run == kScaledRun ? 0x1p-8f : run == kScaledRun + 1 ? 0x1p-16f : 0x1p-32f;
}
template <class T, int Rows, int Columns>
DEVICE void scale_gradients(int run, TileC (&dp)[Rows][Columns]) {
  if (!is_scaled<T>(run)) return;
#pragma unroll
  for (int m = 0; m < Rows; ++m)
#pragma unroll
    for (int n = 0; n < Columns; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) dp[m][n][i] *= gradient_scale<T>(run);
}
template <class T>
DEVICE rapt_abi_row_statistics statistics_in(int run, const rapt_abi_row_statistics& own) {
  return {run == kFirstRun ? marked(own.lse) : own.lse, own.delta * gradient_scale<T>(run)};
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
