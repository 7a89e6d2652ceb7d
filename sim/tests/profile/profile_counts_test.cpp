// The counters, compared with small kernels counted by hand.
#include "sim/tests/support/profiled_code.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using enum InstructionClass;

TEST(ProfileCounts, OfEveryClass) {
  const Block memory(8192);
  ProfiledCode code(Arch::gfx942, R"(
    s_mov_b32 s0, 3
    v_mov_b32 v1, 1.0
  loop:
    v_add_f32 v1, v1, v1
    v_exp_f32 v2, v1
    v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[4:5], a[0:15]
    s_sub_u32 s0, s0, 1
    s_cmp_lg_u32 s0, 0
    s_cbranch_scc1 loop
    ds_write_b32 v0, v1
    ds_read_b32 v5, v6
    s_waitcnt lgkmcnt(0)
    global_load_dword v7, v0, s[2:3]
    global_store_dwordx4 v12, v[8:11], s[2:3]
    global_atomic_add v0, v1, s[2:3]
    s_waitcnt vmcnt(0)
    s_barrier
    s_load_dword s8, s[2:3], 0x0
    s_nop 3
    s_sendmsg sendmsg(MSG_INTERRUPT)
    buffer_inv sc1
    s_endpgm)");
  Wave& w = code.wave();
  w.set_pair(2, memory.address());
  for (unsigned l = 0; l < 64; ++l) w.row(6)[l] = 128 * l, w.row(12)[l] = 64 * l;
  code.run();

  const std::pair<InstructionClass, unsigned> expected[] = {
      {scalar, 7}, {scalar_memory, 1}, {vector, 4},       {transcendental, 3}, {matrix, 3},
      {lds, 2},    {global_load, 1},   {global_store, 1}, {global_atomic, 1},  {branch, 4},
      {wait, 2},   {barrier, 1},       {message, 1},      {other, 2}};
  std::uint64_t all = 0;
  for (const auto& [c, count] : expected) {
    EXPECT_EQ(code.count(c), count) << name(c);
    all += count;
  }
  EXPECT_EQ(code.counted().totals.instructions, all);

  EXPECT_EQ(code.clocks(Pipe::scalar), 8U);
  EXPECT_EQ(code.clocks(Pipe::vector), 4U * 4 + 3 * 16 + 3 * 4);
  EXPECT_EQ(code.clocks(Pipe::matrix), 3U * 32);
  EXPECT_EQ(code.clocks(Pipe::transcendental), 0U);
  // 4 clocks per instruction, but 16 for v_exp and for s_nop 3; no product waits for the previous one.
  EXPECT_EQ(code.counted().cycles, (all - 4) * 4 + 4 * 16);

  const MemoryCounts& m = code.counted().totals.memory;
  EXPECT_EQ(m.bytes, 64U * 4 + 64 * 16 + 64 * 4);
  EXPECT_EQ(m.sectors32, 8U + 64 + 8);
  EXPECT_EQ(m.sectors64, 4U + 64 + 4);
  EXPECT_EQ(m.scalar_bytes, 4U);
  EXPECT_EQ(m.lds_bytes, 2U * 256);
  // The store fills the 32 banks twice; the load's lanes all meet in bank 0.
  EXPECT_EQ(m.lds_clocks, 2U + 64);
  EXPECT_EQ(m.lds_conflicts, 62U);
  EXPECT_EQ(code.counts.footprint.bytes(), 4096U);  // a sector for each lane's store holds all else
}

TEST(ProfileCounts, OnlyActiveLanes) {
  const Block memory(8192);
  ProfiledCode code(Arch::gfx90a, R"(
    global_load_dword v7, v0, s[2:3]
    ds_read_b32 v5, v6
    s_endpgm)");
  Wave& w = code.wave();
  w.set_pair(2, memory.address() + 30);
  w.set_pair(sreg::exec, 0x8000000000000001);
  code.run();
  const MemoryCounts& m = code.counted().totals.memory;
  EXPECT_EQ(m.bytes, 8U);
  EXPECT_EQ(m.sectors32, 3U);  // bytes 30 to 33, and 282 to 285
  EXPECT_EQ(m.sectors64, 2U);
  EXPECT_EQ(m.lds_bytes, 8U);
  EXPECT_EQ(m.lds_clocks, 2U);
  EXPECT_EQ(m.lds_conflicts, 0U);
}

// 64 adjacent lanes of 8 bytes: 16 lanes per clock; 32 for loads on gfx950.
TEST(ProfileCounts, BanksOfEachProduct) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    ProfiledCode load(arch, "ds_read_b64 v[2:3], v1\ns_endpgm"), store(arch, "ds_write_b64 v1, v[2:3]\ns_endpgm");
    for (ProfiledCode* code : {&load, &store}) {
      for (unsigned l = 0; l < 64; ++l) code->wave().row(1)[l] = 8 * l;
      code->run();
      EXPECT_EQ(code->counted().totals.memory.lds_conflicts, 0U);
    }
    EXPECT_EQ(load.counted().totals.memory.lds_clocks, arch == Arch::gfx950 ? 2U : 4U);
    EXPECT_EQ(store.counted().totals.memory.lds_clocks, 4U);
  }
}

TEST(ProfileCounts, ConflictsOfWideLanes) {
  const auto clocks = [](const std::string& text, auto address) {
    ProfiledCode code(Arch::gfx90a, text + "\ns_endpgm");
    for (unsigned l = 0; l < 64; ++l) code.wave().row(1)[l] = address(l);
    code.run();
    return code.counted().totals.memory.lds_clocks;
  };
  const std::string two = "ds_read_b64 v[2:3], v1", four = "ds_read_b128 v[4:7], v1";
  EXPECT_EQ(clocks(two, [](unsigned l) { return 256 * l; }), 64U) << "all in two banks, 16 lanes at a time";
  EXPECT_EQ(clocks(four, [](unsigned l) { return 128 * l; }), 64U) << "all in four banks, 8 lanes at a time";
  EXPECT_EQ(clocks(two, [](unsigned l) { return 8 * (l / 2); }), 4U) << "pairs of lanes at one place";
  // Lanes that are not aligned to their size: 2 * 16 dwords from dword 1 on; overlapping ones share dwords.
  EXPECT_EQ(clocks(two, [](unsigned l) { return 4 + 8 * l; }), 4U);
  EXPECT_EQ(clocks(two, [](unsigned l) { return 4 * l; }), 4U);
  EXPECT_EQ(clocks(two, [](unsigned l) { return 4 + 256 * l; }), 64U);
  EXPECT_EQ(clocks(two, [](unsigned l) { return 4 * (l % 2) + 128 * l; }), 64U)
      << "bank 1 is the second of an even lane and the first of an odd one";
}

TEST(ProfileCounts, OneDwordForManyLanesIsNoConflict) {
  ProfiledCode code(Arch::gfx1100, "ds_load_b32 v2, v1\ns_endpgm");  // every lane at address 0
  code.run();
  EXPECT_EQ(code.counted().totals.memory.lds_clocks, 1U);
  EXPECT_EQ(code.counted().totals.memory.lds_conflicts, 0U);
}

TEST(ProfileCounts, SpacesOfMemory) {
  const Block memory(4096);
  ProfiledCode code(Arch::gfx1201, R"(
    flat_load_b32 v2, v[4:5]
    flat_store_b32 v[4:5], v2
    buffer_load_b32 v3, v0, s[4:7], null offen
    buffer_store_b32 v3, v0, s[4:7], null offen
    buffer_atomic_add_u32 v3, v0, s[4:7], null offen
    global_wb
    s_endpgm)");
  Wave& w = code.wave();
  for (unsigned l = 0; l < 32; ++l) {
    w.row(4)[l] = static_cast<std::uint32_t>(memory.address());
    w.row(5)[l] = static_cast<std::uint32_t>(memory.address() >> 32);
  }
  w.set_pair(4, memory.address());
  w.sgpr[6] = 4096;
  w.sgpr[7] = 0x31014fac;
  code.run();
  for (const InstructionClass c : {flat_load, flat_store, buffer_load, buffer_store, buffer_atomic, other})
    EXPECT_EQ(code.count(c), 1U) << name(c);
  EXPECT_EQ(code.counted().totals.memory.bytes, 5U * 32 * 4);
  EXPECT_EQ(code.counts.footprint.bytes(), 128U);
}

// Each wave of a group, and their sum by instruction.
TEST(ProfileCounts, OfEachWave) {
  ProfiledCode code(Arch::gfx942, R"(
  loop:
    v_add_f32 v1, v1, v1
    s_sub_u32 s0, s0, 1
    s_cmp_lg_u32 s0, 0
    s_cbranch_scc1 loop
    s_barrier
    s_endpgm)",
                    0, 3);
  for (unsigned n = 0; n < 3; ++n) code.wave(n).sgpr[0] = 10 * (n + 1);
  code.run();
  ASSERT_EQ(code.counts.waves.size(), 3U);
  for (unsigned n = 0; n < 3; ++n) {
    EXPECT_EQ(code.counted(n).wave, n);
    EXPECT_EQ(code.count(vector, n), 10U * (n + 1));
    EXPECT_EQ(code.counted(n).totals.instructions, 40U * (n + 1) + 2);
  }
  EXPECT_EQ(code.counts.longest.wave, 2U);
  EXPECT_EQ(code.counts.slots[0].executed, 60U);
  EXPECT_EQ(code.counts.slots[3].taken, 57U);
  EXPECT_EQ(code.report().totals.instructions, code.counts.instructions);
}

// A wave's next product waits until the pipe is free; other work goes on.
TEST(ProfileCounts, ProductsFollowEachOther) {
  const std::string product = "v_mfma_f32_32x32x8_f16 a[0:15], v[2:3], v[4:5], a[0:15]\n";
  ProfiledCode two(Arch::gfx942, product + product + "s_endpgm");
  two.run();
  EXPECT_EQ(two.counted().cycles, 32U + 4 + 4);
  std::string adds;
  for (int n = 0; n < 7; ++n) adds += "v_add_f32 v20, v21, v22\n";
  ProfiledCode filled(Arch::gfx942, product + adds + product + "s_endpgm");
  filled.run();
  EXPECT_EQ(filled.counted().cycles, 32U + 4 + 4);
}

}  // namespace
}  // namespace rapt::sim::test
