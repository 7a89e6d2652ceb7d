// Latencies and rates of memory: the model must return the table's values.
#include "sim/tests/support/timed_code.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Stall;

class TimedMemory : public testing::TestWithParam<const Chip*> {
 protected:
  const Chip& chip() const { return *GetParam(); }
  bool rdna() const { return is_rdna(chip().arch); }
  unsigned lanes() const { return rdna() ? 32 : 64; }
  unsigned paths() const { return compute_units_per_unit(chip()); }  // to LDS and memory, among which waves are spread

  std::string wait_for_loads(unsigned left = 0) const {
    const std::string count = std::to_string(left);
    return chip().arch == Arch::gfx1201 ? "s_wait_loadcnt " + count : "s_waitcnt vmcnt(" + count + ")";
  }
  std::string wait_for_lds() const { return chip().arch == Arch::gfx1201 ? "s_wait_dscnt 0" : "s_waitcnt lgkmcnt(0)"; }

  // The clocks of one more `text`, where there are many.
  double each(const std::string& text, unsigned waves = 1, unsigned address_step = 4) {
    const auto run = [&](unsigned times) {
      TimedCode code(chip(), repeat(times, text), waves);
      code.set_address(2, memory_.data());
      for (unsigned w = 0; w < waves; ++w)
        for (unsigned l = 0; l < lanes(); ++l) code.wave(w).row(0)[l] = (l + lanes() * w) * address_step;
      return code.clocks();
    };
    return static_cast<double>(run(24) - run(8)) / 16;
  }

  // The clocks from the third load's issue to the instruction after its wait. Many units load the same lines, each line
  // once: by then their neighbours have brought them to the caches that they share.
  double shared_latency(const Chip& chip) {
    const auto run = [&](unsigned rounds) {
      TimedCode code(chip, "s_mov_b32 s0, 0\nnext: global_load_dword v1, v0, s[2:3]\n" + wait_for_loads() + R"(
        v_add_u32 v0, 0x1000, v0
        s_add_u32 s0, s0, 1
        s_cmp_lg_u32 s0, )" + std::to_string(rounds) +
                               "\ns_cbranch_scc1 next");
      code.set_address(2, memory_.data());
      code.clocks();
      return static_cast<double>(code.again(100));
    };
    return run(3) - run(2);
  }

  const Block memory_{1 << 20};
};

TEST_P(TimedMemory, LdsLatency) {
  const double banks = lanes() / 32.0;  // clocks of a dword of each lane
  EXPECT_NEAR(each("ds_read_b32 v1, v0\n" + wait_for_lds()), chip().lds_clocks + banks + chip().turn_clocks, 4);
}

TEST_P(TimedMemory, LdsBandwidth) {
  const double wide = lanes() * 16 / (chip().arch == Arch::gfx950 ? 256.0 : 128.0);  // clocks of 16 bytes of each lane
  EXPECT_NEAR(each(repeat(8, "ds_read_b128 v[4:7], v0") + wait_for_lds(), 8, 16), 64 * wide / paths(),
              8 * wide + chip().lds_clocks);
  EXPECT_NEAR(each(repeat(16, "ds_write_b32 v0, v1"), 8), 16 * 8 * lanes() / 32.0 / paths(), 16);
  // All lanes in one bank.
  EXPECT_NEAR(each(repeat(4, "ds_read_b32 v1, v0"), 4, 128), 4 * 4 * lanes() / paths(), 64);
}

TEST_P(TimedMemory, LanesExchangeValuesInTheLdsLatency) {
  const double crossbar = lanes() / 32.0;  // clocks of a dword of each lane
  EXPECT_NEAR(each("ds_bpermute_b32 v1, v0, v0\n" + wait_for_lds()), chip().lds_clocks + crossbar + chip().turn_clocks,
              4);
}

TEST_P(TimedMemory, L1Latency) {
  EXPECT_NEAR(each("global_load_dword v1, v0, s[2:3]\n" + wait_for_loads()), chip().l1_clocks + 4, 12);
}

TEST_P(TimedMemory, L1Bandwidth) {
  EXPECT_NEAR(each(repeat(8, "global_load_dwordx4 v[4:7], v0, s[2:3]"), 4, 16),
              8 * 4 * lanes() * 16 / chip().l1_bytes_per_clock / paths(), 8);
}

TEST_P(TimedMemory, NeighboursShareTheCacheOfTheirShaderArrayOrL2) {
  const double nearest = chip().units_per_array != 0 ? chip().array_clocks : chip().l2_clocks;
  EXPECT_NEAR(shared_latency(chip()), nearest, 60);
  Chip without = chip();
  without.units_per_array = 0;
  EXPECT_NEAR(shared_latency(without), chip().l2_clocks, 60);
}

TEST_P(TimedMemory, TheLastLevelHasWhatL2CannotKeep) {
  Chip small = chip();
  small.units_per_array = 0;
  small.l2_bytes = small.line_bytes;
  small.l2_ways = 1;
  const double nanoseconds =
      chip().last_level_gigabytes != 0 ? chip().last_level_nanoseconds : chip().memory_nanoseconds;
  EXPECT_NEAR(shared_latency(small), nanoseconds * chip().clock_mhz / 1000, 60);
}

TEST_P(TimedMemory, MemoryLatency) {
  // Each load its own line; the crowd is this group alone, so that nothing is in any cache.
  TimedCode once(chip(), "global_load_dword v1, v0, s[2:3]\n" + wait_for_loads());
  once.set_address(2, memory_.data());
  EXPECT_NEAR(static_cast<double>(once.clocks()), chip().memory_nanoseconds * chip().clock_mhz / 1000, 20);
}

// A load whose lanes have a line each, in a unit that is alone: its lines wait for earlier lines that are on their way.
TEST_P(TimedMemory, SoManyLinesAreOnTheirWay) {
  constexpr unsigned loads = 32;
  std::string text;
  for (unsigned n = 0; n < loads; ++n)
    text += "global_load_dword v1, v0, s[2:3]\nv_add_u32 v0, " + std::to_string(lanes() * chip().line_bytes) + ", v0\n";
  TimedCode code(chip(), text + wait_for_loads());
  code.set_address(2, memory_.data());
  for (unsigned l = 0; l < lanes(); ++l) code.wave(0).row(0)[l] = l * chip().line_bytes;
  const double latency = chip().memory_nanoseconds * chip().clock_mhz / 1000;
  const double lines = loads * lanes();
  EXPECT_NEAR(static_cast<double>(code.clocks()) / (lines / chip().lines_in_flight * latency), 1, 0.15);
}

// Lanes have a line each, which nothing has been at before.
TEST_P(TimedMemory, TheLineOfAnAtomicComesAndGoes) {
  std::string wait = "s_waitcnt vmcnt(0)";
  if (rdna()) wait = chip().arch == Arch::gfx1201 ? "s_wait_storecnt 0" : "s_waitcnt_vscnt null, 0x0";
  const auto clocks = [&](const std::string& name) {
    TimedCode code(chip(), name + " v0, v1, s[2:3]\n" + wait);
    code.set_address(2, memory_.data());
    for (unsigned l = 0; l < lanes(); ++l) code.wave(0).row(0)[l] = l * chip().line_bytes;
    return static_cast<double>(code.clocks());
  };
  const double per_clock = std::min(chip().l2_unit_bytes_per_clock,
                                    chip().memory_efficiency * chip().memory_gigabytes * 1000 / chip().clock_mhz);
  const std::string atomic = rdna() ? "global_atomic_add_u32" : "global_atomic_add";
  EXPECT_NEAR(clocks(atomic) - clocks(rdna() ? "global_store_b32" : "global_store_dword"),
              lanes() * chip().line_bytes / per_clock, 8);
}

TEST_P(TimedMemory, LoadsArriveInOrderAndCountersWaitForSome) {
  TimedCode code(chip(), "global_load_dword v1, v0, s[2:3]\nglobal_load_dword v2, v0, s[2:3]\n" + wait_for_loads(1) +
                             '\n' + wait_for_loads());
  code.set_address(2, memory_.data());
  const std::uint64_t clocks = code.clocks();
  const unsigned first = chip().arch == Arch::gfx1201 ? 6 : 4;  // dwords of the two loads
  EXPECT_GT(code.slots[first].stalled[static_cast<unsigned>(Stall::memory)], clocks / 2);
  EXPECT_LT(code.slots[first + 1].stalled[static_cast<unsigned>(Stall::memory)], 32U);
}

TEST_P(TimedMemory, ScalarLoads) {
  const std::string wait = chip().arch == Arch::gfx1201 ? "s_wait_kmcnt 0" : "s_waitcnt lgkmcnt(0)";
  TimedCode code(chip(), "s_load_dwordx2 s[4:5], s[2:3], 0x0\n" + wait);
  code.set_address(2, memory_.data());
  EXPECT_NEAR(static_cast<double>(code.clocks()), chip().scalar_load_clocks, 12);
  EXPECT_GT(code.stalled(Stall::scalar_memory), chip().scalar_load_clocks / 2);
}

// Where there is only one die, its L2 has what all wrote.
TEST_P(TimedMemory, CoherentScalarLoadsPassTheScalarCache) {
  if (chip().arch == Arch::gfx1201) return;  // its scopes are the caches' own matter: no such flag on a scalar load
  TimedCode code(chip(), "s_load_dwordx2 s[4:5], s[2:3], 0x0 glc\ns_waitcnt lgkmcnt(0)");
  code.set_address(2, memory_.data());
  const double last = chip().last_level_nanoseconds * chip().clock_mhz / 1000;
  EXPECT_NEAR(static_cast<double>(code.clocks()), chip().dies > 1 ? last : chip().l2_clocks, 12);
}

// A wave keeps its place until its stores have arrived; RDNA's may release it before.
TEST_P(TimedMemory, AWaveEndsWithItsStores) {
  const std::string store = std::string(rdna() ? "global_store_b32" : "global_store_dword") + " v0, v1, s[2:3]\n";
  const auto clocks = [&](const std::string& text) {
    TimedCode code(chip(), text);
    code.set_address(2, memory_.data());
    for (unsigned l = 0; l < lanes(); ++l) code.wave().row(0)[l] = 4 * l;
    return static_cast<double>(code.clocks());
  };
  const double latency = chip().memory_nanoseconds * chip().clock_mhz / 1000, without = clocks("s_nop 0");
  EXPECT_NEAR(clocks(store) - without, latency, 0.1 * latency);
  if (!rdna()) return;
  EXPECT_LT(clocks(store + "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)") - without, 0.1 * latency);
}

INSTANTIATE_TEST_SUITE_P(Each, TimedMemory, testing::ValuesIn(chips_of(every_arch)), chip_name);

}  // namespace
}  // namespace rapt::sim::test
