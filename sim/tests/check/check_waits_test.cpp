// The sanitizer's check of data used before its wait: it reports a wait that is missing or too weak, and nothing if the
// wait is sufficient.
#include "sim/tests/support/check_run.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rapt::sim::test {
namespace {

struct Case {
  Arch arch;
  const char* text;
  const char* finding;  // how it begins; "" for none
};

void check_waits(const std::vector<Case>& cases) {
  std::map<Arch, std::string> all;
  for (const Case& c : cases) all[c.arch] += std::string(c.text) + "\n";
  for (const auto& [arch, text] : all) decoded_lines().get(arch, default_lanes(arch), text);
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(name(c.arch)) + "\n" + c.text);
    const std::string found = finding(make_wait_check, c.arch, c.text);
    const std::string expected = c.finding;
    EXPECT_EQ(expected.empty() ? found : found.substr(0, expected.size()), expected);
  }
}

TEST(Waits, Gfx9) {
  check_waits({

      Case{Arch::gfx942, "global_load_dword v5, v[0:1], off\nv_add_f32 v6, v5, v5",
           "v5 is used before the wait for global_load_dword v5, v[0:1], off (vmcnt)"},
      Case{Arch::gfx942, "global_load_dword v5, v[0:1], off\ns_waitcnt vmcnt(0)\nv_add_f32 v6, v5, v5", ""},
      Case{Arch::gfx942, "global_load_dword v5, v[0:1], off\ns_waitcnt lgkmcnt(0)\nv_add_f32 v6, v5, v5", "v5 is used"},
      Case{Arch::gfx942, "global_load_dword v5, v[0:1], off\nv_mov_b32 v5, 0",
           "v5 is overwritten before the wait for global_load_dword v5"},
      // The second of two is still outstanding; stores count with loads.
      Case{Arch::gfx90a,
           "global_load_dword v5, v[0:1], off\nglobal_store_dword v[0:1], v9, off\ns_waitcnt vmcnt(1)\nv_mov_b32 v6, "
           "v5",
           ""},
      Case{Arch::gfx90a,
           "global_load_dword v4, v[0:1], off\nglobal_load_dwordx2 v[6:7], v[0:1], off\ns_waitcnt "
           "vmcnt(1)\nv_mov_b32 v8, v7",
           "v7 is used before the wait for global_load_dwordx2 v[6:7]"},
      // All six bits of vmcnt.
      Case{Arch::gfx908, "buffer_load_dword v5, off, s[0:3], 0\ns_waitcnt vmcnt(16)\nv_mov_b32 v6, v5", "v5 is used"},
      // Loads of one queue write in order; LDS and memory have separate queues.
      Case{Arch::gfx908,
           "global_load_dword v5, v[0:1], off\nglobal_load_dword v5, v[2:3], off\ns_waitcnt vmcnt(0)\nv_mov_b32 v6, "
           "v5",
           ""},
      Case{Arch::gfx908, "global_load_dword v5, v[0:1], off\nds_read_b32 v5, v2", "v5 is overwritten"},
      // LDS operations end in order, scalar loads do not.
      Case{Arch::gfx942, "ds_read_b32 v5, v0\nds_read_b32 v6, v0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v7, v5", ""},
      Case{Arch::gfx942, "ds_read_b32 v5, v0\nds_read_b32 v6, v0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v7, v6",
           "v6 is used before the wait for ds_read_b32 v6, v0 (lgkmcnt)"},
      Case{Arch::gfx942,
           "s_load_dword s4, s[0:1], 0\ns_load_dword s5, s[0:1], 4\ns_waitcnt lgkmcnt(1)\ns_mov_b32 s6, s4",
           "s4 is used before the wait for s_load_dword s4"},
      Case{Arch::gfx942, "s_load_dword s4, s[0:1], 0\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s6, s4", ""},
      Case{Arch::gfx942, "s_load_dwordx2 s[4:5], s[0:1], 0\nglobal_load_dword v5, v0, s[4:5]", "s4 is used"},
      Case{Arch::gfx942, "s_load_dword s4, s[0:1], 0\ns_load_dword s4, s[0:1], 4", "s4 is overwritten"},
      // A mixture: an LDS load has ended when at most the later LDS operations are outstanding.
      Case{Arch::gfx942, "ds_read_b32 v5, v0\ns_load_dword s4, s[0:1], 0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v6, v5",
           "v5 is used"},
      Case{Arch::gfx942, "ds_read_b32 v5, v0\ns_load_dword s4, s[0:1], 0\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v6, v5", ""},
      // Flat operations: both counters, in no order.
      Case{Arch::gfx942, "flat_load_dword v5, v[0:1]\ns_waitcnt vmcnt(0)\nv_mov_b32 v6, v5",
           "v5 is used before the wait for flat_load_dword v5, v[0:1] (lgkmcnt)"},
      Case{Arch::gfx942, "flat_load_dword v5, v[0:1]\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v6, v5",
           "v5 is used before the wait for flat_load_dword v5, v[0:1] (vmcnt)"},
      Case{Arch::gfx942, "flat_load_dword v5, v[0:1]\ns_waitcnt vmcnt(0) lgkmcnt(0)\nv_mov_b32 v6, v5", ""},
      Case{Arch::gfx942,
           "flat_load_dword v5, v[0:1]\nflat_load_dword v6, v[0:1]\ns_waitcnt vmcnt(1) lgkmcnt(1)\nv_mov_b32 v7, v5",
           "v5 is used"},
      Case{Arch::gfx90a, "global_load_dword a5, v[0:1], off\nv_accvgpr_read_b32 v0, a5", "a5 is used"},
      Case{Arch::gfx942, "global_atomic_add v5, v[0:1], v2, off sc0\nv_mov_b32 v6, v5", "v5 is used"},
      Case{Arch::gfx942,
           "global_load_short_d16 v5, v[0:1], off\nglobal_load_short_d16_hi v5, v[0:1], off offset:2\n"
           "s_waitcnt vmcnt(0)\nv_mov_b32 v6, v5",
           ""},
      Case{Arch::gfx942, "s_memtime s[4:5]\ns_add_u32 s6, s4, 1", "s4 is used before the wait for s_memtime"},
      Case{Arch::gfx942, "global_load_dword v5, v[0:1], off\ns_endpgm", ""},
  });
}

// gfx11's waits for one counter add an SGPR to their number: here s_waitcnt_vmcnt s4, 0, which the assembler refuses.
TEST(Waits, AddASgpr) {
  const auto found = [](std::uint32_t added) {
    CheckRun run(make_wait_check, Arch::gfx1100);
    run.wave().sgpr[4] = added;
    return run.run("global_load_b32 v5, v[0:1], off\n.long 0xbc840000\nv_mov_b32 v6, v5");
  };
  EXPECT_EQ(found(0), "");
  EXPECT_EQ(found(1).substr(0, 10), "v5 is used");
  EXPECT_EQ(found(64), "");  // six bits
}

TEST(Waits, Gfx11) {
  check_waits({

      Case{Arch::gfx1100, "global_load_b32 v5, v[0:1], off\ns_waitcnt vmcnt(0)\nv_mov_b32 v6, v5", ""},
      Case{Arch::gfx1100, "global_load_b32 v5, v[0:1], off\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v6, v5",
           "v5 is used before the wait for global_load_b32 v5, v[0:1], off (vmcnt)"},
      // Stores have a separate counter.
      Case{Arch::gfx1100,
           "global_load_b32 v5, v[0:1], off\nglobal_store_b32 v[0:1], v9, off\ns_waitcnt vmcnt(1)\nv_mov_b32 v6, v5",
           "v5 is used"},
      Case{Arch::gfx1151, "ds_load_b32 v5, v0\nds_load_b32 v6, v0\ns_waitcnt lgkmcnt(1)\nv_mov_b32 v7, v5", ""},
      Case{Arch::gfx1151, "ds_load_b32 v5, v0\nds_load_b32 v6, v0\ns_waitcnt lgkmcnt(2)\nv_mov_b32 v7, v5",
           "v5 is used"},
      // Flat operations keep the order of both counters.
      Case{Arch::gfx1100,
           "flat_load_b32 v5, v[0:1]\nflat_load_b32 v6, v[0:1]\ns_waitcnt vmcnt(1) lgkmcnt(1)\nv_mov_b32 v7, v5", ""},
      Case{Arch::gfx1100, "s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_REALTIME)\ns_mov_b32 s5, s4", "s4 is used"},
      Case{Arch::gfx1100, "s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)\ns_mov_b32 s5, s4",
           ""},
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nv_add_f16 v6.l, v5.l, v5.l", ""},
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nv_add_f16 v6.l, v5.h, v5.l", "v5 is used"},
      // Memory operations of 8 and 16 bits name a half too.
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nds_store_b16 v2, v5", ""},
      Case{Arch::gfx1151, "global_load_d16_hi_u8 v5, v[0:1], off\nglobal_store_b8 v[2:3], v5, off", ""},
      Case{Arch::gfx1100, "global_load_d16_b16 v5, v[0:1], off\nv_fma_mixhi_f16 v5, v6, v7, v8", ""},
      Case{Arch::gfx1100, "global_load_d16_b16 v5, v[0:1], off\nv_fma_mixlo_f16 v5, v6, v7, v8", "v5 is overwritten"},
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nv_fma_mixlo_f16 v5, v6, v7, v8", ""},
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nv_fma_mixhi_f16 v5, v6, v7, v8",
           "v5 is overwritten"},
      Case{Arch::gfx1201, "global_load_d16_hi_b16 v5, v[0:1], off\nv_fma_mix_f32 v6, v7, v5, v8 op_sel_hi:[0,1,0]", ""},
      Case{Arch::gfx1201,
           "global_load_d16_hi_b16 v5, v[0:1], off\nv_fma_mix_f32 v6, v7, v5, v8 op_sel:[0,1,0] op_sel_hi:[0,1,0]",
           "v5 is used"},
      Case{Arch::gfx1201, "global_load_d16_hi_b16 v5, v[0:1], off\nv_fma_mix_f32 v6, v7, v5, v8", "v5 is used"},
      Case{Arch::gfx1201, "ds_load_u16_d16 v5, v0\nbuffer_store_d16_hi_b16 v5, off, s[0:3], null", ""},
      Case{Arch::gfx1201, "ds_load_u16_d16 v5, v0\nglobal_load_d16_hi_b16 v5, v[0:1], off", ""},
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nds_store_b16_d16_hi v2, v5", "v5 is used"},
      Case{Arch::gfx1100, "global_load_d16_b16 v5, v[0:1], off\nds_store_b8 v2, v5", "v5 is used"},
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nds_store_b16 v5, v2", "v5 is used"},  // its address
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nds_store_b32 v2, v5", "v5 is used"},
      Case{Arch::gfx1201, "ds_load_u16_d16 v5, v0\nglobal_load_d16_b16 v5, v[0:1], off",
           "v5 is used before the wait for ds_load_u16_d16"},
      Case{Arch::gfx1100, "buffer_load_d16_format_xy v5, off, s[0:3], 0\nv_add_f16 v6.l, v5.h, v5.h", "v5 is used"},
      Case{Arch::gfx1100, "global_load_d16_hi_b16 v5, v[0:1], off\nbuffer_store_d16_format_xy v5, off, s[0:3], 0",
           "v5 is used"},
      Case{Arch::gfx1100, "global_load_b32 v5, v[0:1], off\ns_waitcnt_vmcnt null, 0\nv_mov_b32 v6, v5", ""},
  });
}

TEST(Waits, Gfx12) {
  check_waits({

      Case{Arch::gfx1201, "global_load_b32 v5, v[0:1], off\ns_wait_loadcnt 0x0\nv_mov_b32 v6, v5", ""},
      Case{Arch::gfx1201, "global_load_b32 v5, v[0:1], off\ns_wait_storecnt 0x0\nv_mov_b32 v6, v5",
           "v5 is used before the wait for global_load_b32 v5, v[0:1], off (loadcnt)"},
      Case{Arch::gfx1201, "s_load_b32 s4, s[0:1], 0x0\ns_wait_dscnt 0x0\ns_mov_b32 s5, s4",
           "s4 is used before the wait for s_load_b32 s4, s[0:1], 0x0 (kmcnt)"},
      Case{Arch::gfx1201, "s_load_b32 s4, s[0:1], 0x0\ns_wait_kmcnt 0x0\ns_mov_b32 s5, s4", ""},
      Case{Arch::gfx1201,
           "ds_load_b32 v5, v0\nglobal_load_b32 v6, v[0:1], off\ns_wait_loadcnt_dscnt 0x100\nv_mov_b32 v7, v5", ""},
      Case{Arch::gfx1201,
           "ds_load_b32 v5, v0\nglobal_load_b32 v6, v[0:1], off\ns_wait_loadcnt_dscnt 0x100\nv_mov_b32 v7, v6",
           "v6 is used before the wait for global_load_b32 v6, v[0:1], off (loadcnt)"},
      Case{Arch::gfx1201, "flat_load_b32 v5, v[0:1]\ns_wait_loadcnt 0x0\nv_mov_b32 v7, v5",
           "v5 is used before the wait for flat_load_b32 v5, v[0:1] (dscnt)"},
      Case{Arch::gfx1201, "global_load_b32 v5, v[0:1], off\nglobal_load_b32 v5, v[2:3], off", "v5 is overwritten"},
      Case{Arch::gfx1201, "s_barrier_signal_isfirst -1\ns_cselect_b32 s0, 1, 0",
           "scc is used before the wait for s_barrier_signal_isfirst -1 (kmcnt)"},
      Case{Arch::gfx1201, "s_barrier_signal_isfirst -1\ns_wait_kmcnt 0x0\ns_cselect_b32 s0, 1, 0", ""},
      Case{Arch::gfx1201, "s_barrier_signal_isfirst -1\ns_barrier_wait -1\ns_cselect_b32 s0, 1, 0", ""},
      Case{Arch::gfx1201, "global_load_b32 v5, v[0:1], off\ns_wait_idle\nv_mov_b32 v6, v5", ""},
  });
}

// A load to LDS of wave 0: reads of this and of another wave need wave 0's wait.
TEST(WaitsLds, LoadsToLdsAreCoveredByVmcnt) {
  const std::string fill = "global_load_lds_dword v[0:1], off";
  for (const unsigned reader : {0U, 1U}) {
    for (const bool waited : {false, true}) {
      CheckRun run(make_wait_check, Arch::gfx942, 64, 2);
      EXPECT_EQ(run.run(fill), "");
      EXPECT_EQ(run.access_lds(0, Action::store, 1024, 4), "");
      EXPECT_EQ(run.run(waited ? "s_waitcnt vmcnt(0)\ns_barrier" : "s_barrier"), "");
      EXPECT_EQ(run.run("s_barrier\nds_read_b32 v5, v0", reader), "");
      EXPECT_EQ(run.access_lds(reader, Action::load, 1280, 4), "") << "just behind it";
      const std::string found = run.access_lds(reader, Action::load, 1276, 4);
      if (waited) EXPECT_EQ(found, "");
      else
        EXPECT_EQ(found, "LDS byte 1276 is used before " +
                             std::string(reader == 0 ? "the wait for " : "wave 0's wait for ") + fill + " (vmcnt)");
    }
  }
}

TEST(WaitsLds, TheOlderOfTwoFillsMayBeRead) {
  CheckRun run(make_wait_check, Arch::gfx950, 64, 1);
  for (const unsigned offset : {0U, 4096U}) {
    EXPECT_EQ(run.run("s_mov_b32 m0, 0\nbuffer_load_dwordx4 v0, s[0:3], 0 offen lds"), "");
    EXPECT_EQ(run.access_lds(0, Action::store, offset, 16), "");
  }
  EXPECT_EQ(run.run("s_waitcnt vmcnt(1)\nds_read_b32 v5, v0"), "");
  EXPECT_EQ(run.access_lds(0, Action::load, 0, 4), "");
  EXPECT_NE(run.access_lds(0, Action::load, 4096, 4), "");
  EXPECT_EQ(run.run("s_waitcnt vmcnt(0)\nds_read_b32 v5, v0"), "");
  EXPECT_EQ(run.access_lds(0, Action::load, 4096, 4), "");
}

}  // namespace
}  // namespace rapt::sim::test
