// Rows with huge logits. Rounding a row's maximum, or its lse, in the log2 domain moves it by up to 2^-24 of itself.
// Plain kernels subtract it by one fused operation, which shows that as the exponent of the largest P. Where it could
// be large, later runs or passes (runs.hpp, not_finite.hpp) round each logit as the maximum was rounded, and then
// subtract. The first run is not slower.
#pragma once

#include "kernels/common/block.hpp"
#include "kernels/common/runs.hpp"

namespace rapt::RAPT_VENDOR {

inline constexpr float kHuge = 0x1p22f;

// True of the reference (softmax.hpp) of a row with huge logits, in the log2 domain. A row without keys has kLowest.
DEVICE bool huge(float reference) { return __builtin_fabsf(reference) > kHuge && reference > kLowest; }

// In statistics, -Inf stands for a huge lse. Then P of the first run, and with it each gradient that the row reaches,
// is Inf or NaN, so that there is a second run.
inline constexpr float kHugeLse = -__builtin_inff();
DEVICE float marked(float lse) { return __builtin_fabsf(lse) > kHuge && lse < __builtin_inff() ? kHugeLse : lse; }

// What the first run and later ones take for the lse of a row. NVIDIA's kernels scale dP instead (not_finite.hpp
// there).
template <class T>
DEVICE float lse_in(int run, float lse) {
  return run == kFirstRun ? marked(lse) : lse + added_to_lse<T>(run);
}

// Where the lse of a row of a sequence is; it is -Inf if the row attends nothing.
DEVICE const float* lse_at(BackwardArguments& a, int batch, int head, const Span& q, int row) {
  const char* const of_head = reinterpret_cast<const char*>(a.lse.data) + batch * a.lse.batch + head * a.lse.head;
  return reinterpret_cast<const float*>(of_head + (q.first + row) * a.lse.query);
}
// The lse of a row, from its statistics.
DEVICE float unmarked(BackwardArguments& a, int batch, int head, const Span& q, int row, float lse) {
  return lse == kHugeLse ? *lse_at(a, batch, head, q, row) : lse;
}

}  // namespace rapt::RAPT_VENDOR
