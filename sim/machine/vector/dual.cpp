// VOPD: two operations that both read before either writes (RDNA3 ISA, "Dual issue VALU").
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

#include <algorithm>

namespace rapt::sim::valu {
namespace {

// By opcode. Two of them are v_max_num_f32 and v_min_num_f32 on gfx12, which only the wave's architecture tells.
constexpr std::array<std::string_view, 19> operations{
    "v_fmac_f32", "v_fmaak_f32",  "v_fmamk_f32",        "v_mul_f32",          "v_add_f32",
    "v_sub_f32",  "v_subrev_f32", "v_mul_dx9_zero_f32", "v_mov_b32",          "v_cndmask_b32",
    "v_max_f32",  "v_min_f32",    "v_dot2acc_f32_f16",  "v_dot2acc_f32_bf16", "",
    "",           "v_add_nc_u32", "v_lshlrev_b32",      "v_and_b32"};

void run_half(Wave& w, const Instruction& i) {
  static const auto table = [] {
    std::array<Handler, operations.size()> found{};
    for (std::size_t k = 0; k < found.size(); ++k) found[k] = handlers().find(operations[k], Arch::gfx1100, 32);
    return found;
  }();
  const Handler handler = table[i.opcode->code];
  if (handler == nullptr) throw Fault(FaultKind::illegal_instruction, std::string(i.opcode->name) + " is not modelled");
  handler(w, i);
}

bool reads(const Instruction& i, const Operand& written) {
  return std::any_of(i.src.begin(), i.src.end(),
                     [&](const Operand& o) { return o.kind == OperandKind::vgpr && o.index == written.index; });
}

void run_dual(Wave& w, const Instruction& x) {
  const Instruction& y = *x.dual;
  if (!reads(y, x.dst)) {
    run_half(w, x);
    run_half(w, y);
    return;
  }
  if (!reads(x, y.dst)) {
    run_half(w, y);
    run_half(w, x);
    return;
  }
  // If each reads what the other writes, Y uses X's old destination.
  constexpr unsigned lanes = 32;
  std::uint32_t* row = w.row(x.dst);
  Row<lanes> old_row, new_row;
  std::copy_n(row, lanes, old_row.begin());
  run_half(w, x);
  std::copy_n(row, lanes, new_row.begin());
  std::copy_n(old_row.begin(), lanes, row);
  run_half(w, y);
  std::copy_n(new_row.begin(), lanes, row);
}

}  // namespace

// For waves of 32 lanes only.
void register_dual(HandlerTable& t) {
  for (const std::string_view name :
       {"v_dual_fmac_f32", "v_dual_fmaak_f32", "v_dual_fmamk_f32", "v_dual_mul_f32", "v_dual_add_f32", "v_dual_sub_f32",
        "v_dual_subrev_f32", "v_dual_mul_dx9_zero_f32", "v_dual_mov_b32", "v_dual_cndmask_b32", "v_dual_max_f32",
        "v_dual_max_num_f32", "v_dual_min_f32", "v_dual_min_num_f32", "v_dual_dot2acc_f32_f16",
        "v_dual_dot2acc_f32_bf16", "v_dual_add_nc_u32", "v_dual_lshlrev_b32", "v_dual_and_b32"})
    t.add(name, &run_dual, nullptr, rdna);
}

}  // namespace rapt::sim::valu
