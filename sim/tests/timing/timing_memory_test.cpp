// Latencies and rates of memory: the model must return the table's values.
#include "sim/tests/support/timed_code.hpp"

namespace rapt::sim::test {
namespace {

using timing::Chip;
using timing::Stall;

class TimedMemory : public testing::TestWithParam<const Chip*> {
 protected:
  const Chip& chip() const { return *GetParam(); }
  // From the load's issue until an instruction behind its wait may go, of one more round where there are many.
  double each(const std::string& text, unsigned waves = 1, unsigned address_step = 4) {
    const auto run = [&](unsigned times) {
      TimedCode code(chip(), repeat(times, text), waves);
      code.set_address(2, memory_.data());
      for (unsigned w = 0; w < waves; ++w)
        for (unsigned l = 0; l < 64; ++l) code.wave(w).row(0)[l] = (l + 64 * w) * address_step;
      return code.clocks();
    };
    return static_cast<double>(run(24) - run(8)) / 16;
  }

  const Block memory_{1 << 20};
};

TEST_P(TimedMemory, LdsLatency) {
  // 64 lanes of a dword: two clocks of the banks.
  EXPECT_NEAR(each("ds_read_b32 v1, v0\ns_waitcnt lgkmcnt(0)"), chip().lds_clocks + 2 + 4, 4);
}

TEST_P(TimedMemory, LdsBandwidth) {
  const double wide = chip().arch == Arch::gfx950 ? 4 : 8;  // clocks of 1024 bytes
  EXPECT_NEAR(each(repeat(8, "ds_read_b128 v[4:7], v0") + "s_waitcnt lgkmcnt(0)", 8, 16), 64 * wide,
              8 * wide + chip().lds_clocks);
  EXPECT_NEAR(each(repeat(16, "ds_write_b32 v0, v1"), 8), 16 * 8 * 2, 16);
  // All lanes in one bank.
  EXPECT_NEAR(each(repeat(4, "ds_read_b32 v1, v0"), 4, 128), 4 * 4 * 64, 64);
}

TEST_P(TimedMemory, L1Latency) {
  EXPECT_NEAR(each("global_load_dword v1, v0, s[2:3]\ns_waitcnt vmcnt(0)"), chip().l1_clocks + 4, 12);
}

TEST_P(TimedMemory, L1Bandwidth) {
  EXPECT_NEAR(each(repeat(8, "global_load_dwordx4 v[4:7], v0, s[2:3]"), 4, 16), 32 * 1024 / chip().l1_bytes_per_clock,
              8);
}

TEST_P(TimedMemory, MemoryLatency) {
  // Each load its own line; the crowd is this group alone, so that nothing is in any cache.
  TimedCode once(chip(), "global_load_dword v1, v0, s[2:3]\ns_waitcnt vmcnt(0)");
  once.set_address(2, memory_.data());
  EXPECT_NEAR(static_cast<double>(once.clocks()), chip().memory_nanoseconds * chip().clock_mhz / 1000, 20);
}

TEST_P(TimedMemory, LoadsArriveInOrderAndCountersWaitForSome) {
  TimedCode code(chip(), R"(
    global_load_dword v1, v0, s[2:3]
    global_load_dword v2, v0, s[2:3]
    s_waitcnt vmcnt(1)
    s_waitcnt vmcnt(0))");
  code.set_address(2, memory_.data());
  const std::uint64_t clocks = code.clocks();
  EXPECT_GT(code.slots[4].stalled[static_cast<unsigned>(Stall::memory)],
            clocks / 2);  // the first wait, two slots a load
  EXPECT_LT(code.slots[5].stalled[static_cast<unsigned>(Stall::memory)], 32U);
}

TEST_P(TimedMemory, ScalarLoads) {
  TimedCode code(chip(), "s_load_dwordx2 s[4:5], s[2:3], 0x0\ns_waitcnt lgkmcnt(0)");
  code.set_address(2, memory_.data());
  EXPECT_NEAR(static_cast<double>(code.clocks()), chip().scalar_load_clocks, 12);
  EXPECT_GT(code.stalled(Stall::scalar_memory), chip().scalar_load_clocks / 2);
}

INSTANTIATE_TEST_SUITE_P(Each, TimedMemory, testing::ValuesIn(all_chips()), chip_name);

}  // namespace
}  // namespace rapt::sim::test
