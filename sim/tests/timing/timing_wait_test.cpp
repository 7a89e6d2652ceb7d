// Kernels in which a workgroup may wait for another one have no time: they are refused by name.
#include "sim/machine/core/fault.hpp"
#include "sim/tests/support/profiled_code.hpp"
#include "sim/tests/support/programs/kernels.hpp"
#include "sim/timing/chip.hpp"
#include "sim/timing/code_flow.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

TEST(Waits, AreLoopsThatLookAtWhatOthersStore) {
  const auto waits = [](Arch arch, const std::string& text) {
    const ProfiledCode code(arch, text + "\ns_endpgm");
    const auto reached = timing::reached(code.program(), code.program().base()).value();
    return timing::branch_decided_by_loads(reached).has_value();
  };
  const std::string load = "next: global_load_dword v1, v0, s[2:3] sc1\n",
                    plain = "next: global_load_dword v1, v0, s[2:3]\n",
                    decide = "v_readfirstlane_b32 s0, v1\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 next";
  EXPECT_TRUE(waits(Arch::gfx942, load + decide));
  EXPECT_TRUE(waits(Arch::gfx942, "next: s_load_dword s0, s[2:3], 0 glc\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 next"));
  EXPECT_TRUE(waits(Arch::gfx942, plain + "buffer_inv sc1\n" + decide));
  EXPECT_TRUE(waits(Arch::gfx942, load + "ds_write_b32 v0, v1\nds_read_b32 v1, v0\n" + decide)) << "through the LDS";
  EXPECT_TRUE(
      waits(Arch::gfx942, load + "v_cmp_ne_u32 vcc, 0, v1\ns_and_saveexec_b64 s[4:5], vcc\ns_cbranch_execnz next"));
  EXPECT_TRUE(waits(Arch::gfx942, "global_atomic_add v2, v0, v3, s[4:5] sc0\n" + load + decide)) << "after a ticket";
  // The half that decides lies before the half that loads.
  EXPECT_TRUE(waits(Arch::gfx942,
                    "s_branch next\nout: v_mov_b32 v1, 0\ns_endpgm\nsecond: v_readfirstlane_b32 s0, v1\n"
                    "s_cmp_eq_u32 s0, 0\ns_cbranch_scc0 out\ns_nop 0\n" +
                        load + "s_branch second"));
  // What is loaded before the loop, may be old, is a constant, is multiplied, decides nothing, or is a ticket.
  EXPECT_FALSE(waits(Arch::gfx942, "global_load_dword v1, v0, s[2:3] sc1\nnext: s_nop 0\n" + decide));
  EXPECT_FALSE(waits(Arch::gfx942, plain + decide));
  EXPECT_FALSE(waits(Arch::gfx942, plain + "buffer_inv sc0\n" + decide));
  EXPECT_FALSE(waits(Arch::gfx942, "next: s_load_dword s0, s[2:3], 0\ns_cmp_eq_u32 s0, 0\ns_cbranch_scc1 next"));
  EXPECT_FALSE(waits(Arch::gfx942, load + "v_mul_f32 v1, v1, v1\n" + decide));
  EXPECT_FALSE(waits(Arch::gfx942, load + "v_mov_b32 v1, 0\n" + decide));
  EXPECT_FALSE(waits(Arch::gfx942, load + "s_cmp_eq_u32 s0, 0\ns_cbranch_scc1 next"));
  EXPECT_FALSE(waits(Arch::gfx942, "s_nop 0\n" + load + "v_readfirstlane_b32 s0, v1\ns_cmp_eq_u32 s0, 0")) << "no loop";
  EXPECT_FALSE(waits(Arch::gfx942, "next: global_atomic_add v1, v0, v2, s[2:3] sc0\n" + decide));
  EXPECT_FALSE(waits(Arch::gfx90a, "next: global_load_dword v1, v0, s[2:3] glc slc\n" + decide)) << "streams";
  EXPECT_TRUE(waits(Arch::gfx90a, "next: global_load_dword v1, v0, s[2:3] glc\n" + decide));
  EXPECT_TRUE(waits(Arch::gfx1100, "next: global_load_b32 v1, v0, s[2:3] glc\n" + decide));
  EXPECT_TRUE(waits(Arch::gfx1201, "next: global_load_b32 v1, v0, s[2:3] scope:SCOPE_DEV\n" + decide));
  EXPECT_TRUE(waits(Arch::gfx90a, "next: global_load_dword v1, v0, s[2:3]\nbuffer_wbinvl1_vol\n" + decide));
}

TEST(Waits, AreFoundAcrossFarBranches) {
  const auto reached = [](Arch arch, const std::string& text) {
    const ProfiledCode code(arch, text);
    return timing::reached(code.program(), code.program().base()).has_value();
  };
  const std::string back =
      "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, 0xfffffff0\ns_addc_u32 s5, s5, -1\ns_setpc_b64 s[4:5]";
  EXPECT_TRUE(reached(Arch::gfx1100, "s_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\n" + back));
  EXPECT_TRUE(reached(Arch::gfx942, "s_nop 0\ns_nop 0\ns_nop 0\ns_nop 0\n" + back));
  EXPECT_FALSE(reached(Arch::gfx1100, "s_add_u32 s4, s4, 0xfffffff0\ns_addc_u32 s5, s5, -1\ns_setpc_b64 s[4:5]"));
  EXPECT_FALSE(reached(Arch::gfx1100, "s_getpc_b64 s[4:5]\ns_add_u32 s4, s4, s6\ns_setpc_b64 s[4:5]"));
}

// The last workgroup sets the flags.
constexpr const char* kernels = R"(
  __device__ unsigned flag_at(unsigned* at) {
    return __hip_atomic_load(at, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  __device__ bool last_sets(unsigned* flag, unsigned last) {
    if (BID != last) return false;
    flag[TID] = 1;
    return true;
  }
  extern "C" __global__ void busy(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) while (flag_at(flag) == 0) {}
  }
  extern "C" __global__ void asleep(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) while (flag_at(flag) == 0) __builtin_amdgcn_s_sleep(1);
  }
  extern "C" __global__ void lanes(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) while (flag_at(flag + TID) == 0) __builtin_amdgcn_s_sleep(1);
  }
  extern "C" __global__ void any_lane(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) while (__builtin_amdgcn_ballot_w64(flag_at(flag + TID) == 0)) {}
  }
  extern "C" __global__ void limit(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) for (unsigned n = 0; n < 1000000000; ++n) if (flag_at(flag)) break;
  }
  extern "C" __global__ void one_lane(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) {
      if (TID == 0) while (flag_at(flag) == 0) __builtin_amdgcn_s_sleep(1);
      __builtin_amdgcn_s_barrier();
    }
  }
  extern "C" __global__ void passed_on(unsigned* flag, unsigned last) {
    if (last_sets(flag, last)) return;
    __shared__ unsigned seen;
    for (;;) {
      if (TID == 0) seen = flag_at(flag);
      SYNC();
      const unsigned value = seen;
      SYNC();
      if (value != 0) break;
    }
  }
  __device__ __attribute__((noinline)) bool asked(unsigned* flag) { return flag_at(flag); }
  extern "C" __global__ void call(unsigned* flag, unsigned last) {
    if (!last_sets(flag, last)) while (!asked(flag)) {}
  }
  extern "C" __global__ void counts(unsigned*, unsigned) {
    for (unsigned n = 0; n < 3000; ++n) asm volatile("s_nop 0");
  }
  extern "C" __global__ void watches_the_clock(unsigned*, unsigned) {
    const unsigned long begin = __builtin_readcyclecounter() >> 12;
    while (__builtin_readcyclecounter() >> 12 == begin) {}
  }
)";

constexpr unsigned groups = 40, threads = 128;

// What the launch's error says; "" if there is none.
std::string failure(const Module& module, const std::string& name) {
  const Buffer<unsigned> flags(std::vector<unsigned>(threads, 0));
  try {
    module.launch(name, {groups, 1, 1}, {threads, 1, 1}, 0, flags.data(), groups - 1);
  } catch (const Fault& fault) {
    return fault.what();
  }
  return {};
}

TEST(Waits, HaveNoTime) {
  for (const char* compiler : {"clang-19", "clang-22"})
    for (const char* level : {"-O1", "-O3"}) {
      Module module(Arch::gfx942, kernels, level, compiler);
      for (const bool sample_only : {false, true}) {
        module.time({timing::find_chip(Arch::gfx942, "mi300x"), sample_only});
        for (const std::string name : {"busy", "asleep", "lanes", "any_lane", "limit", "one_lane", "passed_on"}) {
          const std::string text = failure(module, name);
          EXPECT_TRUE(text.starts_with(name + " cannot be timed: a workgroup may wait for another one: the loop with "
                                              "the branch at +0x"))
              << compiler << ' ' << level << ": " << text;
        }
        EXPECT_EQ(failure(module, "call"),
                  "call cannot be timed: it jumps to an address in registers, where a loop may "
                  "wait for another workgroup");
        for (const std::string name : {"counts", "watches_the_clock"}) EXPECT_EQ(failure(module, name), "");
      }
    }
}

TEST(Waits, EndWithoutTime) {
  const Module module(Arch::gfx942, kernels);
  for (const std::string name : {"busy", "asleep", "lanes", "any_lane", "limit", "one_lane", "passed_on", "call"})
    EXPECT_EQ(failure(module, name), "") << name;
}

}  // namespace
}  // namespace rapt::sim::test
