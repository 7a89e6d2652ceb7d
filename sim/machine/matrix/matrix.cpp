// Executes matrix instructions: unpacks the operands, applies the modifiers, and passes a tile to the arithmetic.
//
// EXEC is ignored (CDNA3 document, rules of the MFMA instructions; RDNA4 document, "does not skip WMMA").
#include "sim/machine/core/handlers.hpp"
#include "sim/machine/matrix/operands.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

namespace rapt::sim {

namespace matrix {

namespace {

Sums& chosen_sums() {
  static Sums chosen = [] {
    const char* wish = std::getenv("RAPT_SIM_MATRIX");
    return wish != nullptr && std::string_view(wish) == "measured" ? Sums::measured : Sums::fused;
  }();
  return chosen;
}

const Kernels& arithmetic(const Op& op, Arch arch) {
  const bool measured = sums() == Sums::measured;
  const unsigned lane_k = op.shape.k * op.shape.m * op.shape.blocks / 64;  // bf16 without "_1k" has two k per lane
  const Kernels& aligned = op.shape.k == 4 ? truncated4_kernels : truncated_kernels;
  switch (op.a) {
    case Element::f16:
      if (arch == Arch::gfx90a) return pairs4_kernels;
      if (is_rdna(arch) || !measured) return exact_product_kernels;
      return arch == Arch::gfx908 ? exact4_kernels : aligned;
    case Element::bf16:
      if (arch == Arch::gfx90a) return lane_k == 2 ? pairs2_kernels : pairs4_kernels;
      if (is_rdna(arch) || !measured) return fused_kernels;
      return arch == Arch::gfx908 ? exact2_kernels : aligned;
    case Element::xf32: return measured ? truncated4_kernels : fused_kernels;
    case Element::fp8:
    case Element::bf8: return is_rdna(arch) || !measured ? exact_product_kernels : truncated_fp8_kernels;
    case Element::f32: return fused_kernels;
    default: return integer_kernels;
  }
}

int smallest_exponent(Element e, Arch arch) {
  const bool fnuz = arch == Arch::gfx942;
  switch (e) {
    case Element::f16: return f16_format.smallest_exponent();
    case Element::fp8: return (fnuz ? fp8_fnuz_format : fp8_format).smallest_exponent();
    case Element::bf8: return (fnuz ? bf8_fnuz_format : bf8_format).smallest_exponent();
    default: return -126;
  }
}

void execute(const Plan& plan, Wave& w, const Instruction& i) {
  const Op& op = *plan.op;
  alignas(64) float a[largest_operand], b[largest_operand];
  read_operand(plan, w, i, 0, a);
  read_operand(plan, w, i, 1, b);
  Tile t{};
  t.rows = plan.rows;
  t.k = plan.k;
  t.blocks = plan.blocks;
  t.a_stride = plan.a_stride;
  t.a = a;
  t.b = b;
  t.a_count = plan.a.elements * plan.lanes;
  t.b_count = plan.b.elements * plan.lanes;
  t.a_at = plan.a_at.data();
  t.b_at = plan.b_at.data();
  t.smallest_exponent_a = smallest_exponent(op.a, w.arch);
  t.smallest_exponent_b = smallest_exponent(op.b, w.arch);
  t.saturate = saturates(w, i);

  std::array<std::uint16_t, 128> broadcast;
  if (op.family == Family::mfma && i.cbsz != 0) {
    broadcast_blocks(plan, i, broadcast);
    t.a_at = broadcast.data();
  }
  std::array<std::uint16_t, largest_operand / 2> steps;
  if (is_sparse(op)) {
    sparse_steps(plan, w, i, a, steps);
    t.b_at = steps.data();
    t.b_by_row = true;
  }
  Accumulator c(plan, w, i);
  t.c = c.input();
  t.c_at = c.input_at();
  t.d = c.output();
  t.d_at = c.output_at();
  arithmetic(op, w.arch)[op.shape.n](t);
  c.finish(t);
}

template <std::size_t index>
void run(Wave& w, const Instruction& i) {
  constexpr const Op& op = ops[index];
  if constexpr (op.a == Element::f64) {
    static const Plan plan = make_plan(op, 64);
    execute_f64(plan, w, i);
  } else if constexpr (op.family == Family::scaled) {
    execute_scaled(op, w, i);
  } else {
    static const Plan plans[2] = {make_plan(op, is_cdna(op) ? 64 : 32), make_plan(op, 64)};
    execute(plans[w.lanes == 64], w, i);
  }
}

template <std::size_t... index>
void add_all(HandlerTable& table, std::index_sequence<index...>) {
  (table.add(ops[index].name, run<index>, ops[index].archs), ...);
}

}  // namespace

Sums sums() { return chosen_sums(); }
void set_sums(Sums sums) { chosen_sums() = sums; }

}  // namespace matrix

void register_matrix(HandlerTable& table) { matrix::add_all(table, std::make_index_sequence<matrix::ops.size()>{}); }

}  // namespace rapt::sim
