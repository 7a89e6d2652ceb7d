// v_pk_*_f16. gfx950's three-operand forms and gfx12's min and max treat NaNs as the unpacked ones do.
#include "sim/machine/packed/lanes.hpp"
#include "sim/machine/vector/arithmetic.hpp"
#include "sim/machine/vector/min_max.hpp"

namespace rapt::sim::packed {
namespace {

using valu::f16;

struct Fused {
  float operator()(float a, float b, float c) const { return valu::fma_half(a, b, c); }
};

// LLVM decodes SDWA, neg and abs too, but no document says which halves of the pairs they mean.
template <unsigned N>
void accumulate(Wave& w, const Instruction& i) {
  if (i.lane_map == LaneMap::sdwa || (i.neg | i.abs) != 0)
    throw Fault(FaultKind::illegal_instruction,
                "v_pk_fmac_f16 with SDWA, neg or abs is not documented, and not simulated");
  Halves<f16, 3, valu::Options{}, Fused>::run<N>(w, i);
}

}  // namespace

void register_f16(HandlerTable& t) {
  constexpr valu::Options selects{.own_nan = true, .keeps_denormal = true};
  add<f16, 2>(t, "v_pk_add_f16", [](float a, float b) { return a + b; });
  add<f16, 2>(t, "v_pk_mul_f16", [](float a, float b) { return a * b; });
  add<f16, 3>(t, "v_pk_fma_f16", Fused{});
  t.add("v_pk_fmac_f16", accumulate<32>, accumulate<64>);
  add<f16, 2, selects>(t, "v_pk_min_f16", valu::min_number);
  add<f16, 2, selects>(t, "v_pk_max_f16", valu::max_number);
  add<f16, 2, selects>(t, "v_pk_min_num_f16", valu::min_number);
  add<f16, 2, selects>(t, "v_pk_max_num_f16", valu::max_number);
  add<f16, 2, selects>(t, "v_pk_minimum_f16", valu::min_propagating);
  add<f16, 2, selects>(t, "v_pk_maximum_f16", valu::max_propagating);
  add<f16, 3, selects>(t, "v_pk_minimum3_f16", valu::then(valu::min_propagating, valu::min_propagating));
  add<f16, 3, selects>(t, "v_pk_maximum3_f16", valu::then(valu::max_propagating, valu::max_propagating));
}

}  // namespace rapt::sim::packed
