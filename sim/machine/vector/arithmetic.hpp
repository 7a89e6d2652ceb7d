// Arithmetic that several VALU operations share.
#pragma once

#include "sim/machine/operands/valu.hpp"

namespace rapt::sim::valu {

// DX9's rule for the "legacy" and "dx9_zero" operations: 0 * x = 0, whatever x is.
inline float multiply_dx9(float a, float b) { return a == 0 || b == 0 ? 0.0F : a * b; }

inline float flush(float x) { return std::fabs(x) < 0x1p-126F ? std::copysign(0.0F, x) : x; }

// v_mad_f32 and v_mac_f32: two roundings, and denormals are always flushed (Vega ISA: "denormals are flushed").
inline float mad(float a, float b, float c) { return flush(flush(flush(a) * flush(b)) + flush(c)); }

// The f16 forms: the same with f16's precision and range.
inline float round_to_half(const Wave& w, float x) { return half_to_float(float_to_half(x, rounding<f16>(w))); }
inline float flush_half(float x) { return std::fabs(x) < 0x1p-14F ? std::copysign(0.0F, x) : x; }
inline float mad_half(const Wave& w, float a, float b, float c) {
  const float product = flush_half(round_to_half(w, flush_half(a) * flush_half(b)));
  return flush_half(round_to_half(w, product + flush_half(c)));
}

// A double holds the sum of an f16 product and an f16 precisely enough for one further rounding.
inline double fma_half(float a, float b, float c) { return static_cast<double>(a) * b + c; }

}  // namespace rapt::sim::valu
