// gfx12's v_s_* operations: a transcendental function of one scalar, whatever EXEC is (RDNA4 ISA, "Pseudo-scalar
// transcendental ops"). Uses the vector forms' path for one lane.
#include "sim/machine/scalar/operands.hpp"
#include "sim/machine/operands/tables.hpp"
#include "sim/machine/vector/transcendental.hpp"

namespace rapt::sim::valu {
namespace {

template <class T, class F>
void run(Wave& w, const Instruction& i) {
  constexpr unsigned lanes = 32;
  Scratch<lanes> scratch;
  const bool plain = is_plain<T>(w, i);
  const std::tuple<Source<T, lanes>> source{fetch<T, lanes>(w, i, 0, plain, scratch)};
  alignas(64) std::uint32_t result[lanes];
  {
    const HostRounding host(rounding<T>(w).mode);
    run_lanes<T, Options{}, F, lanes>(w, i, source, rounding<T>(w), result, nullptr);
  }
  if (!plain) modify_result<lanes>(w, i, info<T>(), false, result, nullptr);
  write_scalar32(w, i.dst, result[0]);
}

template <class T, class F>
void add_scalar(HandlerTable& t, std::string_view name, F) {
  t.add(name, &run<T, F>);
}

}  // namespace

void register_scalar_result(HandlerTable& t) {
  add_scalar<f32>(t, "v_s_exp_f32", exp_f32);
  add_scalar<f32>(t, "v_s_log_f32", log_f32);
  add_scalar<f32>(t, "v_s_rcp_f32", rcp_f32);
  add_scalar<f32>(t, "v_s_sqrt_f32", sqrt_f32);
  add_scalar<f32>(t, "v_s_rsq_f32", rsq_f32);
  add_scalar<f16>(t, "v_s_exp_f16", exp_f16);
  add_scalar<f16>(t, "v_s_log_f16", log_f16);
  add_scalar<f16>(t, "v_s_rcp_f16", rcp_f16);
  add_scalar<f16>(t, "v_s_sqrt_f16", sqrt_f16);
  add_scalar<f16>(t, "v_s_rsq_f16", rsq_f16);
}

}  // namespace rapt::sim::valu
