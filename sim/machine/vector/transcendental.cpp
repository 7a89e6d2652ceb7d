// Exponentials, logarithms, reciprocals, roots, sine and cosine.
#include "sim/machine/vector/transcendental.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {

void register_transcendental(HandlerTable& t) {
  add<f32(f32)>(t, "v_exp_f32", exp_f32);
  add<f32(f32)>(t, "v_log_f32", log_f32);
  add<f32(f32)>(t, "v_rcp_f32", rcp_f32);
  add<f32(f32)>(t, "v_rcp_iflag_f32", rcp_f32);
  add<f32(f32)>(t, "v_sqrt_f32", sqrt_f32);
  add<f32(f32)>(t, "v_rsq_f32", rsq_f32);
  add<f32(f32)>(t, "v_sin_f32", [](float x) { return static_cast<float>(sine_turns(x)); });
  add<f32(f32)>(t, "v_cos_f32", [](float x) { return static_cast<float>(cosine_turns(x)); });
  // The CDNA documents do not explain "with legacy semantics"; this follows their formula.
  add<f32(f32)>(t, "v_exp_legacy_f32", exp_f32);
  add<f32(f32)>(t, "v_log_legacy_f32", log_f32);

  add<f16(f16)>(t, "v_exp_f16", exp_f16);
  add<f16(f16)>(t, "v_log_f16", log_f16);
  add<f16(f16)>(t, "v_rcp_f16", rcp_f16);
  add<f16(f16)>(t, "v_sqrt_f16", sqrt_f16);
  add<f16(f16)>(t, "v_rsq_f16", rsq_f16);
  add<f16(f16)>(t, "v_sin_f16", [](float x) { return sine_turns(x); });
  add<f16(f16)>(t, "v_cos_f16", [](float x) { return cosine_turns(x); });

  // The hardware's are accurate to 2^29 ulp; these are exact, so that refining them in a program changes nothing.
  add<f64(f64)>(t, "v_rcp_f64", [](double x) { return 1.0 / x; });
  add<f64(f64)>(t, "v_sqrt_f64", [](double x) { return std::sqrt(x); });
  add<f64(f64)>(t, "v_rsq_f64", [](double x) { return 1.0 / std::sqrt(x); });
}

}  // namespace rapt::sim::valu
