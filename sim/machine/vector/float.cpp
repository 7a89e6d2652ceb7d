// Floating-point sums and products. v_fma and v_fmac round once, v_mad and v_mac twice.
#include "sim/machine/vector/arithmetic.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

constexpr auto sum = [](auto a, auto b) { return a + b; };
constexpr auto difference = [](auto a, auto b) { return a - b; };
constexpr auto reverse_difference = [](auto a, auto b) { return b - a; };
constexpr auto product = [](auto a, auto b) { return a * b; };
constexpr auto fused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
constexpr auto fused_half = [](float a, float b, float c) { return fma_half(a, b, c); };
constexpr auto unfused = [](float a, float b, float c) { return mad(a, b, c); };
constexpr auto unfused_half = [](const Wave& w, float a, float b, float c) { return mad_half(w, a, b, c); };
constexpr auto product_dx9 = [](float a, float b) { return multiply_dx9(a, b); };
constexpr auto fused_dx9 = [](float a, float b, float c) { return a == 0 || b == 0 ? c : std::fma(a, b, c); };

}  // namespace

void register_float(HandlerTable& t) {
  add<f32(f32, f32)>(t, "v_add_f32", sum);
  add<f32(f32, f32)>(t, "v_sub_f32", difference);
  add<f32(f32, f32)>(t, "v_subrev_f32", reverse_difference);
  add<f32(f32, f32)>(t, "v_mul_f32", product);
  add<f32(f32, f32, f32)>(t, "v_fma_f32", fused);
  add<f32(f32, f32, f32)>(t, "v_fmac_f32", fused);
  add<f32(f32, f32, f32)>(t, "v_fmaak_f32", fused);
  add<f32(f32, f32, f32)>(t, "v_fmamk_f32", fused);
  add<f32(f32, f32, f32)>(t, "v_mad_f32", unfused);
  add<f32(f32, f32, f32)>(t, "v_mac_f32", unfused);
  add<f32(f32, f32, f32)>(t, "v_madak_f32", unfused);
  add<f32(f32, f32, f32)>(t, "v_madmk_f32", unfused);

  add<f32(f32, f32)>(t, "v_mul_legacy_f32", product_dx9);
  add<f32(f32, f32)>(t, "v_mul_dx9_zero_f32", product_dx9);
  add<f32(f32, f32, f32)>(t, "v_fma_dx9_zero_f32", fused_dx9);
  add<f32(f32, f32, f32)>(t, "v_fmac_dx9_zero_f32", fused_dx9);
  add<f32(f32, f32, f32)>(t, "v_mad_legacy_f32", [](float a, float b, float c) {
    return flush(flush(multiply_dx9(flush(a), flush(b))) + flush(c));
  });
  // RDNA3 ISA: for lighting; S1 is the base, S2 the exponent.
  add<f32(f32, f32, f32)>(t, "v_mullit_f32", [](float a, float b, float c) {
    constexpr float lowest = std::numeric_limits<float>::lowest();
    return b > lowest && c > 0 ? multiply_dx9(a, b) : lowest;
  });

  add<f16(f16, f16)>(t, "v_add_f16", sum);
  add<f16(f16, f16)>(t, "v_sub_f16", difference);
  add<f16(f16, f16)>(t, "v_subrev_f16", reverse_difference);
  add<f16(f16, f16)>(t, "v_mul_f16", product);
  constexpr Options keep{.keep_half = true};
  add<f16(f16, f16, f16), keep>(t, "v_fma_f16", fused_half);
  add<f16(f16, f16, f16), keep>(t, "v_fmac_f16", fused_half);
  add<f16(f16, f16, f16), keep>(t, "v_fmaak_f16", fused_half);
  add<f16(f16, f16, f16), keep>(t, "v_fmamk_f16", fused_half);
  add<f16(f16, f16, f16)>(t, "v_fma_legacy_f16", fused_half);
  add<f16(f16, f16, f16), keep>(t, "v_mad_f16", unfused_half);
  add<f16(f16, f16, f16), keep>(t, "v_mac_f16", unfused_half);
  add<f16(f16, f16, f16), keep>(t, "v_madak_f16", unfused_half);
  add<f16(f16, f16, f16), keep>(t, "v_madmk_f16", unfused_half);
  add<f16(f16, f16, f16)>(t, "v_mad_legacy_f16", unfused_half);

  add<f64(f64, f64)>(t, "v_add_f64", sum);
  add<f64(f64, f64)>(t, "v_mul_f64", product);
  add<f64(f64, f64, f64)>(t, "v_fma_f64", fused);
  add<f64(f64, f64, f64)>(t, "v_fmac_f64", fused);
}

}  // namespace rapt::sim::valu
