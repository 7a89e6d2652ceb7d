// SOPP and other instructions that move the program counter, end or halt a wave, or change its modes (CDNA3 ISA 4 and
// 12.5, RDNA3 ISA 16.5, RDNA4 ISA 16.5).
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 start = 0x10000;

template <typename F>
void on_every_target(F f) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    MemoryWave wave(target);
    f(wave, target);
  }
}

// Where the wave continues: the displacement is in dwords after the instruction, where `pc` already is.
u64 next(MemoryWave& wave, const std::string& line) {
  wave.wave().pc = start;
  wave.go(line);
  return wave.wave().pc;
}

TEST(Control, Branches) {
  on_every_target([](MemoryWave& wave, Target target) {
    const u64 taken = start + 20, back = start - 8;
    std::vector<std::string> lines = {"s_branch 5", "s_branch 0xfffe", "s_cbranch_scc1 0xfffe"};
    for (const char* condition : {"scc0", "vccz", "vccnz", "execz", "execnz"})
      lines.push_back(std::string("s_cbranch_") + condition + " 5");
    for (const char* condition : {"cdbgsys", "cdbguser", "cdbgsys_or_user", "cdbgsys_and_user"})
      if (!contains(gfx12, target.arch)) lines.push_back(std::string("s_cbranch_") + condition + " 5");
    wave.prepare(lines);
    EXPECT_EQ(next(wave, "s_branch 5"), taken);
    EXPECT_EQ(next(wave, "s_branch 0xfffe"), back);
    for (const bool scc : {false, true}) {
      wave.wave().scc = scc;
      EXPECT_EQ(next(wave, "s_cbranch_scc0 5"), scc ? start : taken);
      EXPECT_EQ(next(wave, "s_cbranch_scc1 0xfffe"), scc ? back : start);
    }
    for (const u64 mask : {u64{0}, u64{1}, u64{0x8000000000000000}}) {
      const bool zero = target.lanes == 32 ? static_cast<u32>(mask) == 0 : mask == 0;
      wave.wave().set_pair(sreg::vcc, mask);
      EXPECT_EQ(next(wave, "s_cbranch_vccz 5"), zero ? taken : start);
      EXPECT_EQ(next(wave, "s_cbranch_vccnz 5"), zero ? start : taken);
      wave.wave().set_pair(sreg::exec, mask);
      EXPECT_EQ(next(wave, "s_cbranch_execz 5"), zero ? taken : start);
      EXPECT_EQ(next(wave, "s_cbranch_execnz 5"), zero ? start : taken);
    }
    if (contains(gfx12, target.arch)) return;
    for (const char* condition : {"cdbgsys", "cdbguser", "cdbgsys_or_user", "cdbgsys_and_user"})
      EXPECT_EQ(next(wave, std::string("s_cbranch_") + condition + " 5"), start) << "no debugger is attached";
  });
}

TEST(Control, CallsAndReturns) {
  on_every_target([](MemoryWave& wave, Target) {
    wave.prepare({"s_setpc_b64 s[4:5]", "s_swappc_b64 s[20:21], s[4:5]", "s_swappc_b64 s[4:5], s[4:5]",
                  "s_call_b64 s[20:21], 0xfffe", "s_getpc_b64 s[22:23]"});
    wave.wave().set_pair(4, 0x123456789abc);
    EXPECT_EQ(next(wave, "s_setpc_b64 s[4:5]"), 0x123456789abcU);
    EXPECT_EQ(next(wave, "s_swappc_b64 s[20:21], s[4:5]"), 0x123456789abcU);
    EXPECT_EQ(wave.wave().pair(20), start);
    EXPECT_EQ(next(wave, "s_swappc_b64 s[4:5], s[4:5]"), 0x123456789abcU) << "the target is read first";
    EXPECT_EQ(wave.wave().pair(4), start);
    wave.wave().set_pair(20, 0);
    EXPECT_EQ(next(wave, "s_call_b64 s[20:21], 0xfffe"), start - 8);
    EXPECT_EQ(wave.wave().pair(20), start);
    EXPECT_EQ(next(wave, "s_getpc_b64 s[22:23]"), start);
    EXPECT_EQ(wave.wave().pair(22), start);
  });
}

// Two passes over a wave of 64 lanes, or one if only one half has active lanes; the saved half in s20.
TEST(Control, SubvectorLoops) {
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1151}) {
    OneWave wave(arch, 64);
    const auto state = [&] { return std::tuple{wave.wave().pc - start, wave.wave().exec(), u64{wave.s(20)}}; };
    const auto run = [&](const std::string& line, u64 exec, u32 saved) {
      wave.wave().pc = start, wave.s(20) = saved;
      wave.wave().set_pair(sreg::exec, exec);
      wave.run(line);
      return state();
    };
    using State = std::tuple<u64, u64, u64>;
    const std::string begin = "s_subvector_loop_begin s20, 5", end = "s_subvector_loop_end s20, 0xfffe";
    EXPECT_EQ(run(begin, 0, 7), (State{20, 0, 7})) << "skipped";
    EXPECT_EQ(run(begin, 0x1200000034, 7), (State{0, 0x34, 0x12})) << "the lower half first";
    EXPECT_EQ(run(end, 0x34, 0x12), (State{static_cast<u64>(-8), 0x1200000000, 0x34})) << "then the upper one";
    EXPECT_EQ(run(end, 0x1200000000, 0x34), (State{0, 0x1200000034, 0x34})) << "and EXEC as it was";
    EXPECT_EQ(run(begin, 0x1200000000, 7), (State{0, 0x1200000000, 0})) << "the upper half alone";
    EXPECT_EQ(run(end, 0x1200000000, 0), (State{0, 0x1200000000, 0}));
    EXPECT_EQ(run(begin, 0x34, 7), (State{0, 0x34, 0})) << "the lower half alone";
    EXPECT_EQ(run(end, 0x34, 0), (State{0, 0x34, 0}));
    OneWave narrow(arch, 32);
    narrow.wave().pc = start;
    narrow.run(begin + "\n" + end);
    EXPECT_EQ(narrow.wave().pc, start) << "a wave of 32 lanes runs through";
    EXPECT_EQ(narrow.wave().exec(), 0xffffffffU);
  }
}

TEST(Control, EndsAndHalts) {
  on_every_target([](MemoryWave& wave, Target) {
    wave.prepare({"s_endpgm", "s_endpgm_saved", "s_setkill 0", "s_setkill 1", "s_sleep 1", "s_wakeup", "s_trap 3",
                  "s_trap 2", "s_sethalt 0", "s_sethalt 1", "s_sendmsghalt 1"});
    const auto state_after = [&](const std::string& line) {
      wave.wave().state = WaveState::running;
      wave.group.live_waves = 1;
      wave.go(line);
      return wave.wave().state;
    };
    EXPECT_EQ(state_after("s_endpgm"), WaveState::ended);
    EXPECT_EQ(wave.group.live_waves, 0U);
    EXPECT_EQ(state_after("s_endpgm_saved"), WaveState::ended);
    EXPECT_EQ(state_after("s_setkill 0"), WaveState::running);
    EXPECT_EQ(state_after("s_setkill 1"), WaveState::ended);
    EXPECT_EQ(state_after("s_sleep 1"), WaveState::sleeping);
    EXPECT_EQ(state_after("s_wakeup"), WaveState::running);
    EXPECT_EQ(state_after("s_trap 3"), WaveState::running) << "debugtrap, without a debugger";
    EXPECT_EQ(state_after("s_sethalt 0"), WaveState::running);
    for (const auto& [line, words] :
         {std::pair{"s_trap 2", "s_trap 2"}, {"s_sethalt 1", "s_sethalt"}, {"s_sendmsghalt 1", "s_sendmsghalt"}}) {
      try {
        wave.go(line);
        ADD_FAILURE() << line << " reports nothing";
      } catch (const Fault& fault) {
        EXPECT_EQ(fault.kind, FaultKind::trap);
        EXPECT_NE(std::string(fault.what()).find(words), std::string::npos) << fault.what();
      }
    }
  });
  OneWave wave(Arch::gfx1201);
  wave.s(4) = 5;
  wave.run("s_sleep_var s4");
  EXPECT_EQ(wave.wave().state, WaveState::sleeping);
}

// A wave waits for the others; the last one to arrive continues at once.
TEST(Control, Barrier) {
  on_every_target([](MemoryWave& wave, Target target) {
    if (contains(gfx12, target.arch)) return;
    wave.group.barrier.members = 2;
    wave.run("s_barrier");
    EXPECT_EQ(wave.wave().state, WaveState::at_barrier);
    EXPECT_EQ(wave.group.barrier.signalled, 1U);
    wave.wave().state = WaveState::running;
    wave.run("s_barrier");  // as the other wave
    EXPECT_EQ(wave.wave().state, WaveState::running);
    EXPECT_EQ(wave.group.barrier.phase, 1U);
    EXPECT_EQ(wave.group.barrier.signalled, 0U);
  });
}

// The first wave that signals learns that it is; the last one's signal completes the phase.
TEST(Control, SignalIsFirst) {
  OneWave wave(Arch::gfx1201);
  wave.group.barrier.members = 2;
  wave.run("s_barrier_signal_isfirst -1");
  EXPECT_TRUE(wave.wave().scc);
  EXPECT_EQ(wave.group.barrier.signalled, 1U);
  EXPECT_EQ(wave.group.barrier.phase, 0U);
  wave.run("s_barrier_signal_isfirst -1");
  EXPECT_FALSE(wave.wave().scc);
  EXPECT_EQ(wave.group.barrier.phase, 1U);
  wave.run("s_barrier_signal_isfirst -1");
  EXPECT_TRUE(wave.wave().scc) << "of the next phase";
  wave.s(sreg::m0) = 3;
  EXPECT_THROW(wave.run("s_barrier_signal_isfirst m0"), Fault) << "named barriers are not modelled";
}

TEST(Control, Modes) {
  for (const Target& target : every_target()) {
    if (is_cdna(target.arch)) continue;
    MemoryWave wave(target);
    wave.wave().mode = 0xabcdef12;
    wave.run("s_round_mode 5");
    EXPECT_EQ(wave.wave().mode, 0xabcdef15U);
    wave.run("s_denorm_mode 9");
    EXPECT_EQ(wave.wave().mode, 0xabcdef95U);
  }
}

TEST(Control, MessagesWithAnAnswer) {
  for (const Target& target : every_target()) {
    if (is_cdna(target.arch)) continue;
    MemoryWave wave(target);
    wave.wave().cycles = 0x123456789a0;
    wave.run(
        "s_sendmsg_rtn_b32 s20, sendmsg(MSG_RTN_GET_REALTIME)\n"
        "s_sendmsg_rtn_b64 s[22:23], sendmsg(MSG_RTN_GET_REALTIME)");
    const u64 time = 0x123456789a0 / 20;  // 100 MHz, about a twentieth of the shader's clock
    EXPECT_EQ(wave.s(20), static_cast<u32>(time));
    EXPECT_EQ(wave.wave().pair(22), time);
    EXPECT_THROW(wave.run("s_sendmsg_rtn_b32 s20, sendmsg(MSG_RTN_GET_DOORBELL)"), Fault);
  }
}

}  // namespace
}  // namespace rapt::sim::test
