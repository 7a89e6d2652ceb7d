// Waits between waves and workgroups: how long they take depends on the host's threads, what is recorded must not.
#include "sim/tests/support/programs/kernels.hpp"
#include "sim/tests/support/timed_code.hpp"
#include "sim/timing/launch_time.hpp"

namespace rapt::sim::test {
namespace {

using timing::WaveTrace;

const timing::Chip& mi300x() { return *timing::find_chip(Arch::gfx942, "mi300x"); }

enum class Set { before, in_first_round, later };

// What wave 0 records of `wait` when its flags (64 dwords at s[2:3], lane l's at v0 + s[2:3]) are set before it looks,
// or by wave 1: at once, which is in the first round of a wait that sleeps, or half of them later than the others.
WaveTrace recorded(const std::string& wait, const Block& flags, Set set) {
  const auto delay = [](const std::string& label) {
    return "s_mov_b32 s0, 0\n" + label + ": s_add_u32 s0, s0, 1\ns_cmp_lt_u32 s0, s1\ns_cbranch_scc1 " + label + "\n";
  };
  const std::string store = "global_store_dword v0, v3, s[2:3]\n";
  TimedCode code(mi300x(),
                 "v_readfirstlane_b32 s0, v2\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 wait\nv_mov_b32 v3, 1\n" + delay("a") +
                     "s_mov_b64 exec, 0xffff\n" + store + delay("b") + "s_mov_b64 exec, -1\n" + store +
                     "s_endpgm\nwait:\n" + wait + "\nv_add_f32 v4, v4, v4",
                 2);
  code.wave(1).sgpr[1] = set == Set::later ? 3000 : 0;
  code.set_address(2, flags.data());
  for (unsigned l = 0; l < 64; ++l) {
    code.wave(0).row(2)[l] = 0;
    code.wave(1).row(2)[l] = 1;
  }
  auto* const flag = reinterpret_cast<std::uint32_t*>(flags.data());
  std::fill(flag, flag + 64, set == Set::before ? 1 : 0);
  code.clocks();
  return code.trace().waves[0];
}

void expect_same(const WaveTrace& a, const WaveTrace& b, const std::string& what) {
  EXPECT_EQ(a.slots, b.slots) << what;
  EXPECT_EQ(a.lines, b.lines) << what;
  ASSERT_EQ(a.requests.size(), b.requests.size()) << what;
  for (std::size_t n = 0; n < a.requests.size(); ++n) {
    EXPECT_EQ(a.requests[n].first_line, b.requests[n].first_line) << what;
    EXPECT_EQ(a.requests[n].lines, b.requests[n].lines) << what;
    EXPECT_EQ(a.requests[n].bytes, b.requests[n].bytes) << what;
  }
}

constexpr const char* look = "global_load_dword v1, v0, s[2:3] sc1\ns_waitcnt vmcnt(0)\nv_readfirstlane_b32 s0, v1\n";

TEST(TimedWait, IsRecordedAsOneRoundHoweverLongItTakes) {
  const Block flags(256);
  const std::string look_once = look;
  const std::pair<std::string, unsigned> waits[] = {
      // and how many loads are recorded
      {"poll: " + look_once + "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 poll", 1},
      // Asleep between looks.
      {"poll: " + look_once + "s_cmp_lg_u32 s0, 0\ns_cbranch_scc1 done\ns_sleep 1\ns_branch poll\ndone:", 1},
      // As compilers rotate loops: one look before the loop.
      {look_once + "s_cmp_lg_u32 s0, 0\ns_cbranch_scc1 done\ns_mov_b32 s6, 0\npoll: s_sleep 1\n" + look_once +
           "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 poll\ndone:",
       1},
      // With a limit of rounds.
      {"s_mov_b32 s6, 0\npoll: " + look_once +
           "s_add_u32 s6, s6, 1\ns_cmp_eq_u32 s6, -1\ns_cbranch_scc1 done\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 "
           "poll\ndone:",
       1},
      // Each lane for its own flag: it leaves when that is set.
      {R"(s_mov_b64 s[4:5], 0
          poll: global_load_dword v1, v0, s[2:3]
          s_waitcnt vmcnt(0)
          v_cmp_ne_u32 vcc, 0, v1
          s_or_b64 s[4:5], vcc, s[4:5]
          s_andn2_b64 exec, exec, s[4:5]
          s_cbranch_execnz poll
          s_mov_b64 exec, -1)",
       1},
      // A lock.
      {R"(v_mov_b32 v6, 0
          v_mov_b32 v5, 1
          v_mov_b32 v8, 0
          poll: global_atomic_cmpswap v1, v8, v[6:7], s[2:3] sc0
          s_waitcnt vmcnt(0)
          v_readfirstlane_b32 s0, v1
          s_cmp_eq_u32 s0, 0
          s_cbranch_scc1 poll)",
       1},
      // By scalar loads, the address made anew in each round.
      {R"(poll: s_mov_b64 s[8:9], s[2:3]
          s_load_dword s0, s[8:9], 0
          s_waitcnt lgkmcnt(0)
          s_cmp_eq_u32 s0, 0
          s_cbranch_scc1 poll)",
       1},
      // Passed on through the LDS.
      {"poll: " + look_once + R"(
          v_mov_b32 v5, s0
          ds_write_b32 v0, v5
          ds_read_b32 v6, v0
          s_waitcnt lgkmcnt(0)
          v_readfirstlane_b32 s0, v6
          s_cmp_eq_u32 s0, 0
          s_cbranch_scc1 poll)",
       3},
  };
  for (const auto& [wait, loads] : waits) {
    const WaveTrace before = recorded(wait, flags, Set::before);
    EXPECT_EQ(before.requests.size(), loads) << wait;
    for (const Set set : {Set::in_first_round, Set::later}) expect_same(before, recorded(wait, flags, set), wait);
  }
}

std::size_t instructions(const std::string& loop) {
  const Block data(1 << 16);
  TimedCode code(mi300x(), "s_mov_b32 s0, 0\n" + loop);
  code.set_address(2, data.data());
  code.clocks();
  return code.trace().waves[0].slots.size();
}

TEST(TimedWait, LoopsThatDoNotWaitAreRecordedWhole) {
  EXPECT_EQ(instructions(R"(
      next: global_load_dword v1, v0, s[2:3]
      v_add_u32 v0, 4, v0
      s_add_u32 s0, s0, 1
      s_cmp_lg_u32 s0, 100
      s_cbranch_scc1 next)"),
            2 + 5 * 100U)
      << "other addresses";
  EXPECT_EQ(instructions(R"(
      next: global_load_dword v1, v0, s[2:3]
      s_waitcnt vmcnt(0)
      s_add_u32 s0, s0, 1
      s_cmp_lg_u32 s0, 100
      s_cbranch_scc1 next)"),
            2 + 5 * 100U)
      << "a number of rounds that no load decides";
  EXPECT_EQ(instructions(R"(
      v_mov_b32 v2, 100
      global_store_dword v0, v2, s[2:3]
      next: global_load_dword v1, v0, s[2:3]
      s_waitcnt vmcnt(0)
      v_readfirstlane_b32 s1, v1
      s_add_u32 s0, s0, 1
      s_cmp_lg_u32 s0, s1
      s_cbranch_scc1 next)"),
            4 + 6 * 100U)
      << "a number of rounds that memory has";
  EXPECT_EQ(instructions(R"(
      next: s_sleep 1
      s_add_u32 s0, s0, 1
      s_cmp_lg_u32 s0, 100
      s_cbranch_scc1 next)"),
            2 + 4 * 100U)
      << "no load";
  const std::string until_sum = R"(
      v_readfirstlane_b32 s1, v6
      s_cmp_lg_u32 s1, 100
      s_cbranch_scc1 next)";
  const std::string zero = "v_mov_b32 v6, 0\nds_write_b32 v0, v6\n";
  EXPECT_EQ(instructions(zero + R"(
      next: ds_read_b32 v6, v0
      s_waitcnt lgkmcnt(0)
      v_add_u32 v6, 1, v6
      ds_write_b32 v0, v6)" +
                         until_sum),
            4 + 7 * 100U)
      << "work in the LDS";
  const std::string look_at_zero = "global_load_dword v7, v0, s[2:3]\ns_waitcnt vmcnt(0)\n";
  EXPECT_EQ(instructions(zero + "next: " + look_at_zero + R"(
      ds_read_b32 v6, v0
      s_waitcnt lgkmcnt(0)
      v_and_b32 v7, 0, v7
      v_add3_u32 v6, v6, v7, 1
      ds_write_b32 v0, v6)" +
                         until_sum),
            4 + 10 * 100U)
      << "work in the LDS with what memory has";
}

constexpr const char* compiled_waits = R"(
  __device__ unsigned flag_at(unsigned* at) {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  __device__ bool last_sets(unsigned* flag, unsigned last) {
    if (__builtin_amdgcn_workgroup_id_x() != last) return false;
    flag[__builtin_amdgcn_workitem_id_x()] = 1;
    return true;
  }
  extern "C" __global__ void busy(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) while (flag_at(flag) == 0) {}
  }
  extern "C" __global__ void asleep(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) while (flag_at(flag) == 0) __builtin_amdgcn_s_sleep(1);
  }
  extern "C" __global__ void lanes(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last))
      while (flag_at(flag + __builtin_amdgcn_workitem_id_x()) == 0) __builtin_amdgcn_s_sleep(1);
  }
  extern "C" __global__ void one_lane(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) {
      if (__builtin_amdgcn_workitem_id_x() == 0) while (flag_at(flag) == 0) __builtin_amdgcn_s_sleep(1);
      __builtin_amdgcn_s_barrier();
    }
  }
  extern "C" __global__ void passed_on(unsigned* flag, unsigned last) {
    if (last_sets(flag, last)) return;
    __shared__ unsigned seen;
    for (;;) {
      if (__builtin_amdgcn_workitem_id_x() == 0) seen = flag_at(flag);
      SYNC();
      const unsigned value = seen;
      SYNC();
      if (value != 0) break;
    }
  }
)";

TEST(TimedWait, OfCompiledCodeToo) {
  for (const char* compiler : {"clang-19", "clang-22"})
    for (const char* level : {"-O1", "-O3"}) {
      Module module(Arch::gfx942, compiled_waits, level, compiler);
      module.time({&mi300x(), true});  // the last group is in no sample: the others wait until it runs too
      constexpr unsigned threads = 128;
      const Buffer<unsigned> flags(threads);
      for (const char* name : {"busy", "asleep", "lanes", "one_lane", "passed_on"}) {
        const auto time = [&](unsigned set) {
          std::fill_n(flags.data(), threads, set);
          return module.launch(name, {40, 1, 1}, {threads, 1, 1}, 0, flags.data(), 39U).forecast;
        };
        const auto before = time(1), waiting = time(0);
        EXPECT_EQ(before->instructions, waiting->instructions) << name << ' ' << compiler << ' ' << level;
        EXPECT_EQ(before->microseconds, waiting->microseconds) << name << ' ' << compiler << ' ' << level;
      }
    }
}

constexpr const char* unknown_waits = R"(
  __device__ unsigned flag_at(unsigned* at) {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  // The last wave has the flag from another one that has it from the first one.
  extern "C" __global__ void two_hops(unsigned* flag) {
    __shared__ unsigned seen, told;
    for (;;) {
      if (TID == 0) seen = flag_at(flag);
      SYNC();
      if (TID == 64) told = seen;
      SYNC();
      if (told != 0) break;
      SYNC();
    }
  }
  // The first wave's loop is known to wait, but not the one in which the others look at the LDS.
  extern "C" __global__ void told(unsigned* flag) {
    __shared__ unsigned seen;
    seen = 0;
    SYNC();
    if (TID == 0) {
      while (flag_at(flag) == 0) {}
      __hip_atomic_store(&seen, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    } else if (TID >= 64) {
      while (__hip_atomic_load(&seen, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {}
    }
  }
  extern "C" __global__ void never(unsigned*) {
    for (;;) asm volatile("s_nop 0");
  }
  // These go on by themselves.
  extern "C" __global__ void counts(unsigned* flag) {
    for (unsigned n = 0; n < 300000; ++n) asm volatile("s_nop 0");
  }
  extern "C" __global__ void watches_the_clock(unsigned* flag) {
    const unsigned long begin = __builtin_readcyclecounter() >> 20;
    while (__builtin_readcyclecounter() >> 20 == begin) {}
  }
  extern "C" __global__ void stores(unsigned* flag) {
    volatile unsigned* const count = flag + 1 + BID;
    if (TID == 0)
      for (*count = 0; *count < 50000; *count = *count + 1) {}
  }
)";

std::string failure(Module& module, const char* name, bool sample_only, unsigned groups) {
  module.time({&mi300x(), sample_only});
  const Buffer<unsigned> flag(std::vector<unsigned>(100));
  try {
    module.launch(name, {groups, 1, 1}, {128, 1, 1}, 0, flag.data());
  } catch (const Fault& fault) {
    return fault.what();
  }
  return {};
}

TEST(TimedWait, InALoopThatIsNotRecognisedThereIsNoTime) {
  Module module(Arch::gfx942, unknown_waits);
  for (const char* name : {"two_hops", "told", "never"})
    for (const bool sample_only : {false, true})
      EXPECT_EQ(failure(module, name, sample_only, 20),
                std::string(name) +
                    " cannot be timed: a workgroup goes round and round until another one stores something, in a loop "
                    "that is not recognised as waiting; without RAPT_SIM_TIME it runs to its end, if it has one");
  for (const char* name : {"counts", "watches_the_clock", "stores"})
    EXPECT_EQ(failure(module, name, false, 20), "") << name;
}

// In a loop that is recognised, but nobody sets the flag.
TEST(TimedWait, ThatNeverEndsHasNoTime) {
  Module module(Arch::gfx942, R"(
    extern "C" __global__ void for_nobody(unsigned* flag) {
      if (BID % 4 == 0) return;
      while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
    }
    extern "C" __global__ void one_for_nobody(unsigned* flag) {
      if (BID != 333) return;
      while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
    })");
  for (const bool sample_only : {false, true})
    EXPECT_EQ(failure(module, "for_nobody", sample_only, 800),
              "for_nobody cannot be timed: all its workgroups that have not ended wait; without RAPT_SIM_TIME it runs "
              "to its end, if it has one");
  // The one that waits is not recorded.
  EXPECT_EQ(
      failure(module, "one_for_nobody", false, 640),
      "one_for_nobody cannot be timed: all its workgroups that have not ended wait; without RAPT_SIM_TIME it runs "
      "to its end, if it has one");
}

}  // namespace
}  // namespace rapt::sim::test
