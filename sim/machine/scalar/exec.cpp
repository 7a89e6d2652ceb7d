// Scalar operations on EXEC, the program counter, relative registers, and gfx9's VGPR indexing.
#include "sim/machine/scalar/scalar.hpp"

namespace rapt::sim {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// dst = EXEC; EXEC = operation(source, EXEC). SCC = the new EXEC is not zero.
template <typename Operation>
void add_saveexec(HandlerTable& t, std::string_view name32, std::string_view name64, Operation) {
  t.add(name32, [](Wave& w, const Instruction& i) {
    const u32 source = read_scalar32(w, i.src[0]), old = w.sgpr[sreg::exec];
    write_scalar32(w, i.dst, old);
    w.sgpr[sreg::exec] = static_cast<u32>(Operation{}(source, old));
    w.scc = w.sgpr[sreg::exec] != 0;
  });
  t.add(name64, [](Wave& w, const Instruction& i) {
    const u64 source = read_scalar64(w, i.src[0]), old = w.pair(sreg::exec);
    write_scalar64(w, i.dst, old);
    const u64 result = Operation{}(source, old);
    w.set_pair(sreg::exec, result);
    w.scc = result != 0;
  });
}

// EXEC = dst = operation(source, EXEC).
template <typename Operation>
void add_wrexec(HandlerTable& t, std::string_view name32, std::string_view name64, Operation) {
  t.add(name32, [](Wave& w, const Instruction& i) {
    const auto result = static_cast<u32>(Operation{}(read_scalar32(w, i.src[0]), w.sgpr[sreg::exec]));
    w.sgpr[sreg::exec] = result;
    write_scalar32(w, i.dst, result);
    w.scc = result != 0;
  });
  t.add(name64, [](Wave& w, const Instruction& i) {
    const u64 result = Operation{}(read_scalar64(w, i.src[0]), w.pair(sreg::exec));
    w.set_pair(sreg::exec, result);
    write_scalar64(w, i.dst, result);
    w.scc = result != 0;
  });
}

void register_masks(HandlerTable& t) {
  constexpr auto source_not_exec = [](auto s, auto e) { return s & ~e; };
  constexpr auto not_source_exec = [](auto s, auto e) { return ~s & e; };
  constexpr auto source_or_not_exec = [](auto s, auto e) { return s | ~e; };
  constexpr auto not_source_or_exec = [](auto s, auto e) { return ~s | e; };
  add_saveexec(t, "s_and_saveexec_b32", "s_and_saveexec_b64", [](auto s, auto e) { return s & e; });
  add_saveexec(t, "s_or_saveexec_b32", "s_or_saveexec_b64", [](auto s, auto e) { return s | e; });
  add_saveexec(t, "s_xor_saveexec_b32", "s_xor_saveexec_b64", [](auto s, auto e) { return s ^ e; });
  add_saveexec(t, "s_nand_saveexec_b32", "s_nand_saveexec_b64", [](auto s, auto e) { return ~(s & e); });
  add_saveexec(t, "s_nor_saveexec_b32", "s_nor_saveexec_b64", [](auto s, auto e) { return ~(s | e); });
  add_saveexec(t, "s_xnor_saveexec_b32", "s_xnor_saveexec_b64", [](auto s, auto e) { return ~(s ^ e); });
  // The digit in the name is the negated operand: 1 is the source and 2 EXEC on gfx9, 0 and 1 on gfx10 and later.
  add_saveexec(t, "s_and_not0_saveexec_b32", "s_and_not0_saveexec_b64", not_source_exec);
  add_saveexec(t, "s_and_not1_saveexec_b32", "s_and_not1_saveexec_b64", source_not_exec);
  add_saveexec(t, "s_or_not0_saveexec_b32", "s_or_not0_saveexec_b64", not_source_or_exec);
  add_saveexec(t, "s_or_not1_saveexec_b32", "s_or_not1_saveexec_b64", source_or_not_exec);
  add_saveexec(t, "s_andn1_saveexec_b32", "s_andn1_saveexec_b64", not_source_exec);
  add_saveexec(t, "s_andn2_saveexec_b32", "s_andn2_saveexec_b64", source_not_exec);
  add_saveexec(t, "s_orn1_saveexec_b32", "s_orn1_saveexec_b64", not_source_or_exec);
  add_saveexec(t, "s_orn2_saveexec_b32", "s_orn2_saveexec_b64", source_or_not_exec);
  add_wrexec(t, "s_and_not0_wrexec_b32", "s_and_not0_wrexec_b64", not_source_exec);
  add_wrexec(t, "s_and_not1_wrexec_b32", "s_and_not1_wrexec_b64", source_not_exec);
  add_wrexec(t, "s_andn1_wrexec_b32", "s_andn1_wrexec_b64", not_source_exec);
  add_wrexec(t, "s_andn2_wrexec_b32", "s_andn2_wrexec_b64", source_not_exec);
}

void register_program_counter(HandlerTable& t) {
  t.add("s_getpc_b64", [](Wave& w, const Instruction& i) { write_scalar64(w, i.dst, w.pc); });
  t.add("s_setpc_b64", [](Wave& w, const Instruction& i) { w.pc = read_scalar64(w, i.src[0]); });
  t.add("s_swappc_b64", [](Wave& w, const Instruction& i) {
    const u64 target = read_scalar64(w, i.src[0]);
    write_scalar64(w, i.dst, w.pc);
    w.pc = target;
  });
  t.add("s_call_b64", [](Wave& w, const Instruction& i) {
    write_scalar64(w, i.dst, w.pc);
    w.pc += static_cast<u64>(std::int64_t{i.immediate} * 4);
  });
  // Subvector loops run a wave's 64 lanes as two halves of 32 (RDNA3 ISA, "Subvector execution"); in a wave of 32 lanes
  // the loop runs once.
  t.add("s_subvector_loop_begin", [](Wave& w, const Instruction& i) {
    const u32 low = w.sgpr[sreg::exec], high = w.lanes == 32 ? 0 : w.sgpr[sreg::exec + 1];
    if (low == 0 && high == 0) {
      w.pc += static_cast<u64>(std::int64_t{i.immediate} * 4);
    } else if (low == 0) {
      write_scalar32(w, i.dst, low);
    } else {
      write_scalar32(w, i.dst, high);
      w.sgpr[sreg::exec + 1] = 0;
    }
  });
  t.add("s_subvector_loop_end", [](Wave& w, const Instruction& i) {
    const u32 saved = read_scalar32(w, i.dst);
    if (w.lanes == 64 && w.sgpr[sreg::exec + 1] != 0) {
      w.sgpr[sreg::exec] = saved;
    } else if (w.lanes == 64 && saved != 0) {
      write_scalar32(w, i.dst, w.sgpr[sreg::exec]);
      w.sgpr[sreg::exec + 1] = saved;
      w.sgpr[sreg::exec] = 0;
      w.pc += static_cast<u64>(std::int64_t{i.immediate} * 4);
    }
  });
}

unsigned relative(const Wave& w, const Operand& base, u32 distance) {
  const u32 index = base.index + distance;
  if (index + base.dwords > sreg::ttmp0)
    throw Fault(FaultKind::illegal_instruction, "s" + std::to_string(base.index) + " moved by M0 = " +
                                                    std::to_string(w.sgpr[sreg::m0]) + " leaves the scalar registers");
  return index;
}

Operand moved(const Wave& w, const Operand& base, u32 distance) {
  Operand result = base;
  result.index = static_cast<std::uint16_t>(relative(w, base, distance));
  return result;
}

void register_relative_moves(HandlerTable& t) {
  t.add("s_movrels_b32", [](Wave& w, const Instruction& i) {
    write_scalar32(w, i.dst, read_scalar32(w, moved(w, i.src[0], w.sgpr[sreg::m0])));
  });
  t.add("s_movrels_b64", [](Wave& w, const Instruction& i) {
    write_scalar64(w, i.dst, read_scalar64(w, moved(w, i.src[0], w.sgpr[sreg::m0])));
  });
  t.add("s_movreld_b32", [](Wave& w, const Instruction& i) {
    write_scalar32(w, moved(w, i.dst, w.sgpr[sreg::m0]), read_scalar32(w, i.src[0]));
  });
  t.add("s_movreld_b64", [](Wave& w, const Instruction& i) {
    write_scalar64(w, moved(w, i.dst, w.sgpr[sreg::m0]), read_scalar64(w, i.src[0]));
  });
  // M0[9:0] moves the source, M0[25:16] the destination.
  t.add("s_movrelsd_2_b32", [](Wave& w, const Instruction& i) {
    const u32 m0 = w.sgpr[sreg::m0];
    write_scalar32(w, moved(w, i.dst, m0 >> 16 & 0x3ff), read_scalar32(w, moved(w, i.src[0], m0 & 0x3ff)));
  });
}

// gfx9's VGPR indexing: M0[7:0] is the index, M0[15:12] says which operands it moves; MODE.gpr_idx_en switches it on
// (Vega ISA, "VGPR Indexing").
void register_indexing(HandlerTable& t) {
  t.add("s_set_gpr_idx_on", [](Wave& w, const Instruction& i) {
    w.mode |= mode::gpr_idx_en;
    const u32 index = read_scalar32(w, i.src[0]) & 0xff;
    const u32 enable = static_cast<u32>(i.immediate) & 15;
    w.sgpr[sreg::m0] = (w.sgpr[sreg::m0] & 0xffff0f00) | index | enable << 12;
  });
  t.add("s_set_gpr_idx_off", [](Wave& w, const Instruction&) { w.mode &= ~mode::gpr_idx_en; });
  t.add("s_set_gpr_idx_idx", [](Wave& w, const Instruction& i) {
    w.sgpr[sreg::m0] = (w.sgpr[sreg::m0] & 0xffffff00) | (read_scalar32(w, i.src[0]) & 0xff);
  });
  t.add("s_set_gpr_idx_mode", [](Wave& w, const Instruction& i) {
    w.sgpr[sreg::m0] = (w.sgpr[sreg::m0] & 0xffff0fff) | (static_cast<u32>(i.immediate) & 15) << 12;
  });
}

// CDNA ISA documents, "S_SETVSKIP": the bit of the first source that the second one names.
void register_vector_skipping(HandlerTable& t) {
  t.add("s_setvskip", [](Wave& w, const Instruction& i) {
    const bool on = (read_scalar32(w, i.src[0]) >> (read_scalar32(w, i.src[1]) & 31) & 1) != 0;
    w.mode = (w.mode & ~mode::vskip) | (on ? mode::vskip : 0);
  });
}

}  // namespace

void register_scalar_exec(HandlerTable& table) {
  register_masks(table);
  register_program_counter(table);
  register_relative_moves(table);
  register_indexing(table);
  register_vector_skipping(table);
}

}  // namespace rapt::sim
