// Waits, hints, caches and counters, which have no effect on values here: the wave's whole state is unchanged.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

struct Lines {
  ArchSet archs;
  std::vector<std::string> lines;
};

const Lines lists[] = {
    {every_arch,
     {"s_nop 3", "s_setprio 1", "s_icache_inv", "s_incperflevel 1", "s_decperflevel 1", "s_ttracedata", "s_wakeup",
      "s_sendmsg 1", "s_dcache_inv", "s_waitcnt 0", "ds_nop"}},
    {cdna,
     {"s_atc_probe 1, s[4:5], 0x10", "s_atc_probe_buffer 1, s[4:7], 0x10", "s_dcache_inv_vol", "s_dcache_wb",
      "s_dcache_wb_vol", "s_dcache_discard s[4:5], 0x10", "s_dcache_discard_x2 s[4:5], 0x10"}},
    {before_gfx90a | only(Arch::gfx90a), {"buffer_wbinvl1", "buffer_wbinvl1_vol"}},
    {only(Arch::gfx90a), {"buffer_invl2", "buffer_wbl2"}},
    {only(Arch::gfx942) | only(Arch::gfx950), {"buffer_wbl2 sc1", "buffer_inv sc1"}},
    {rdna,
     {"s_clause 3", "s_delay_alu instid0(VALU_DEP_1)", "s_ttracedata_imm 1", "s_wait_event 1", "s_wait_idle",
      "s_version UC_VERSION_GFX11", "s_atc_probe 1, s[4:5], 0x10", "s_atc_probe_buffer 1, s[4:7], 0x10"}},
    {gfx11,
     {"s_set_inst_prefetch_distance 1", "s_waitcnt_depctr 0", "s_waitcnt_expcnt null, 0", "s_waitcnt_lgkmcnt null, 0",
      "s_waitcnt_vmcnt null, 0", "s_waitcnt_vscnt null, 0", "s_gl1_inv", "buffer_gl0_inv", "buffer_gl1_inv"}},
    {gfx12,
     {"s_wait_alu 1", "s_wait_bvhcnt 0", "s_wait_dscnt 0", "s_wait_expcnt 0", "s_wait_kmcnt 0", "s_wait_loadcnt 0",
      "s_wait_loadcnt_dscnt 0", "s_wait_samplecnt 0", "s_wait_storecnt 0", "s_wait_storecnt_dscnt 0",
      "s_prefetch_data s[4:5], 0x10, s8, 1", "s_buffer_prefetch_data s[4:7], 0x10, s8, 1",
      "s_prefetch_data_pc_rel 0x10, s8, 1", "s_prefetch_inst s[4:5], 0x10, s8, 1", "s_prefetch_inst_pc_rel 0x10, s8, 1",
      "global_inv scope:SCOPE_DEV", "global_wb scope:SCOPE_DEV", "global_wbinv scope:SCOPE_SYS"}},
};

TEST(NoEffect, NothingChanges) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    MemoryWave wave(target);
    Block memory(4096);
    std::mt19937 random(3);
    std::vector<std::string> lines;
    for (const Lines& list : lists)
      if (contains(list.archs, target.arch)) lines.insert(lines.end(), list.lines.begin(), list.lines.end());
    wave.prepare(lines);
    Wave& w = wave.wave();
    for (unsigned n = 0; n < sreg::ttmp0; ++n) w.sgpr[n] = static_cast<std::uint32_t>(random());
    for (unsigned n = 0; n < 256 * target.lanes; ++n) w.vgpr[n] = static_cast<std::uint32_t>(random());
    memory.randomize(random), std::generate(wave.group.lds.begin(), wave.group.lds.end(), std::ref(random));
    wave.set_raw_buffer(4, memory.address(), 4096);
    w.scc = true, w.status = 0x5a, w.trapsts = 0xa5, w.pc = 0x1000;
    const auto everything = [&] {
      return std::tuple{std::vector(w.sgpr, w.sgpr + sreg::count), std::vector(w.vgpr, w.vgpr + 256 * target.lanes),
                        std::vector(memory.data(), memory.data() + 4096), wave.group.lds,
                        std::tuple{w.scc, w.mode, w.status, w.trapsts, w.pc, w.state, wave.group.barrier.signalled}};
    };
    const auto before = everything();
    for (const std::string& line : lines) {
      wave.go(line);
      EXPECT_TRUE(everything() == before) << line;
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
