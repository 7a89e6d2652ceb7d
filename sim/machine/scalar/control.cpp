// SOPP: branches, barriers, waits, messages, modes. Waits have no effect on values, because memory operations complete
// at once; the sanitizer checks that they are there.
#include "sim/machine/scalar/barrier.hpp"
#include "sim/machine/lds/arrivals.hpp"
#include "sim/machine/scalar/scalar.hpp"

namespace rapt::sim {
namespace {

void branch(Wave& w, const Instruction& i) { w.pc += static_cast<std::uint64_t>(std::int64_t{i.immediate} * 4); }

template <typename Condition>
constexpr Handler branch_if(Condition) {
  return [](Wave& w, const Instruction& i) {
    if (Condition{}(w)) branch(w, i);
  };
}

std::uint64_t vcc(const Wave& w) { return w.lanes == 32 ? w.sgpr[sreg::vcc] : w.pair(sreg::vcc); }

void no_effect(Wave&, const Instruction&) {}
void end(Wave& w, const Instruction&) { end_wave(w); }

// vmcnt: bits 3:0 and 15:14 (gfx10 and later have no loads to LDS).
void wait(Wave& w, const Instruction& i) {
  if (w.lds_arrivals.empty()) return;
  const auto bits = static_cast<std::uint32_t>(i.immediate);
  arrive_in_lds(w, (bits & 15) | (bits >> 14 & 3) << 4);
}

void register_branches(HandlerTable& t) {
  t.add("s_branch", branch);
  t.add("s_cbranch_scc0", branch_if([](const Wave& w) { return !w.scc; }));
  t.add("s_cbranch_scc1", branch_if([](const Wave& w) { return w.scc; }));
  t.add("s_cbranch_vccz", branch_if([](const Wave& w) { return vcc(w) == 0; }));
  t.add("s_cbranch_vccnz", branch_if([](const Wave& w) { return vcc(w) != 0; }));
  t.add("s_cbranch_execz", branch_if([](const Wave& w) { return w.exec() == 0; }));
  t.add("s_cbranch_execnz", branch_if([](const Wave& w) { return w.exec() != 0; }));
  // No debugger is attached, so its conditions are never met.
  for (const char* name :
       {"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"})
    t.add(name, no_effect);
}

void register_ends(HandlerTable& t) {
  t.add("s_endpgm", end);
  t.add("s_endpgm_saved", end);
  t.add("s_setkill", [](Wave& w, const Instruction& i) {
    if (i.immediate & 1) end_wave(w);
  });
  // Trap 2 is llvm.trap; 3, llvm.debugtrap, continues if no debugger is attached (AMDGPUUsage, "Trap Handler ABI").
  t.add("s_trap", [](Wave&, const Instruction& i) {
    const int id = i.immediate & 0xff;
    if (id != 3) throw Fault(FaultKind::trap, "the kernel trapped: s_trap " + std::to_string(id));
  });
  t.add("s_sethalt", [](Wave&, const Instruction& i) {
    if (i.immediate & 1) throw Fault(FaultKind::trap, "the kernel halted itself with s_sethalt");
  });
}

void only_the_workgroups(std::int32_t barrier) {
  if (barrier != -1)
    throw Fault(FaultKind::illegal_instruction, "barrier " + std::to_string(barrier) + " is not modelled");
}

void register_barriers(HandlerTable& t) {
  t.add("s_barrier", [](Wave& w, const Instruction&) {
    signal_barrier(w);
    wait_barrier(w);
  });
  t.add("s_barrier_signal", [](Wave& w, const Instruction& i) {
    only_the_workgroups(static_cast<std::int32_t>(read_scalar32(w, i.src[0])));
    signal_barrier(w);
  });
  t.add("s_barrier_signal_isfirst", [](Wave& w, const Instruction& i) {
    only_the_workgroups(static_cast<std::int32_t>(read_scalar32(w, i.src[0])));
    w.scc = signal_barrier(w);
  });
  t.add("s_barrier_wait", [](Wave& w, const Instruction& i) {
    only_the_workgroups(i.immediate);
    wait_barrier(w);
  });
}

void register_yields(HandlerTable& t) {
  constexpr auto sleep = [](Wave& w, const Instruction&) { w.state = WaveState::sleeping; };
  t.add("s_sleep", sleep);
  t.add("s_sleep_var", sleep);
  t.add("s_wakeup", no_effect);
}

void register_modes(HandlerTable& t) {
  t.add("s_round_mode", [](Wave& w, const Instruction& i) {
    w.mode = (w.mode & ~0xfU) | (static_cast<std::uint32_t>(i.immediate) & 0xf);
  });
  t.add("s_denorm_mode", [](Wave& w, const Instruction& i) {
    w.mode = (w.mode & ~0xf0U) | (static_cast<std::uint32_t>(i.immediate) & 0xf) << 4;
  });
}

std::uint64_t answer(const Wave& w, const Instruction& i) {
  constexpr std::int32_t get_realtime = 131;
  if (i.immediate != get_realtime)
    throw Fault(FaultKind::illegal_instruction, "message " + std::to_string(i.immediate) + " is not modelled");
  return w.cycles / 20;
}

// Messages to the host: interrupts and the release of registers have no effect here.
void register_messages(HandlerTable& t) {
  t.add("s_sendmsg", no_effect);
  t.add("s_sendmsghalt",
        [](Wave&, const Instruction&) { throw Fault(FaultKind::trap, "the kernel halted itself with s_sendmsghalt"); });
  t.add("s_sendmsg_rtn_b32",
        [](Wave& w, const Instruction& i) { write_scalar32(w, i.dst, static_cast<std::uint32_t>(answer(w, i))); });
  t.add("s_sendmsg_rtn_b64", [](Wave& w, const Instruction& i) { write_scalar64(w, i.dst, answer(w, i)); });
}

}  // namespace

void register_control(HandlerTable& table) {
  register_branches(table);
  register_ends(table);
  register_barriers(table);
  register_yields(table);
  register_modes(table);
  register_messages(table);
  register_hardware_registers(table);
  table.add("s_waitcnt", wait);
  for (const char* name : {"s_nop",
                           "s_waitcnt_vscnt",
                           "s_waitcnt_vmcnt",
                           "s_waitcnt_expcnt",
                           "s_waitcnt_lgkmcnt",
                           "s_waitcnt_depctr",
                           "s_wait_alu",
                           "s_wait_bvhcnt",
                           "s_wait_dscnt",
                           "s_wait_event",
                           "s_wait_expcnt",
                           "s_wait_idle",
                           "s_wait_kmcnt",
                           "s_wait_loadcnt",
                           "s_wait_loadcnt_dscnt",
                           "s_wait_samplecnt",
                           "s_wait_storecnt",
                           "s_wait_storecnt_dscnt",
                           "s_clause",
                           "s_delay_alu",
                           "s_setprio",
                           "s_icache_inv",
                           "s_incperflevel",
                           "s_decperflevel",
                           "s_ttracedata",
                           "s_ttracedata_imm",
                           "s_set_inst_prefetch_distance",
                           "s_version"})
    table.add(name, no_effect);
}

}  // namespace rapt::sim
