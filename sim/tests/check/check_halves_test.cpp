// The check of values for instructions that read or write a half of a register, or a byte: unwritten bits are reported
// if they matter, and only then.
#include "sim/memory/memory.hpp"
#include "sim/isa/facts/halves.hpp"
#include "sim/tests/support/checked_group.hpp"
#include "sim/tests/support/vop/bench.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

// What the check reports for one wave. v0 is written, s[4:5] is memory to store to, v1 and later ones are not written.
std::string finding(Arch arch, const std::string& text) {
  Memory& memory = Memory::process();
  Memory::set_tracking(true);
  void* const out = memory.allocate(65536, 4096, MemoryKind::device, 0);
  CheckedGroup group(arch, {text}, CheckOptions{.values = true});
  group.set_address(4, out);
  group.wave(0).scratch_base = reinterpret_cast<std::uint64_t>(out) + 32768;
  group.wave(0).scratch_bytes_per_lane = 64;
  const std::string found = group.run({0});
  memory.release(out);
  return found;
}

struct Case {
  const char* text;
  const char* silent;    // a use of what was written
  const char* reported;  // of what was not; "" for none
};

void check(std::initializer_list<Arch> archs, std::initializer_list<Case> cases) {
  for (const Arch arch : archs)
    for (const Case& c : cases) {
      const std::string text = std::string(c.text) + "\n";
      EXPECT_EQ(finding(arch, text + c.silent), "") << name(arch) << "\n" << text << c.silent;
      if (*c.reported == 0) continue;
      EXPECT_NE(finding(arch, text + c.reported).find(" was never written and is stored"), std::string::npos)
          << name(arch) << "\n"
          << text << c.reported;
    }
}

constexpr const char* store_lower = "global_store_short v0, v1, s[4:5]";
constexpr const char* store_upper = "global_store_short_d16_hi v0, v1, s[4:5]";
constexpr const char* store_all = "global_store_dword v0, v1, s[4:5]";

TEST(CheckHalves, MixedPrecisionWritesOneHalf) {
  check({Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950, Arch::gfx1100, Arch::gfx1151, Arch::gfx1201},
        {{"v_fma_mixlo_f16 v1, v0, v0, v0", store_lower, store_upper},
         {"v_fma_mixlo_f16 v1, v0, v0, v0", store_lower, store_all},
         {"v_fma_mixhi_f16 v1, v0, v0, v0", store_upper, store_lower},
         {"v_fma_mixlo_f16 v1, v0, v0, v0\nv_fma_mixhi_f16 v1, v0, v0, v0", store_all, ""}});
}

TEST(CheckHalves, MixedPrecisionReadsOneHalf) {
  check({Arch::gfx908, Arch::gfx942, Arch::gfx1100, Arch::gfx1201},
        {{"v_fma_mixlo_f16 v2, v0, v0, v0",
          "v_fma_mix_f32 v1, v2, v0, v2 op_sel_hi:[1,0,1]\nglobal_store_dword v0, v1, s[4:5]",
          "v_fma_mix_f32 v1, v2, v0, v2 op_sel:[0,0,1] op_sel_hi:[1,0,1]\nglobal_store_dword v0, v1, s[4:5]"},
         {"v_fma_mixhi_f16 v2, v0, v0, v0",
          "v_fma_mix_f32 v1, v0, v2, v0 op_sel:[0,1,0] op_sel_hi:[0,1,0]\nglobal_store_dword v0, v1, s[4:5]",
          "v_fma_mix_f32 v1, v0, v2, v0 op_sel_hi:[0,1,0]\nglobal_store_dword v0, v1, s[4:5]"},
         {"v_fma_mixlo_f16 v2, v0, v0, v0",
          "v_fma_mixlo_f16 v1, v2, v2, v0 op_sel_hi:[1,1,0]\nglobal_store_short v0, v1, s[4:5]",
          "v_fma_mix_f32 v1, v2, v0, v0\nglobal_store_dword v0, v1, s[4:5]"}});
}

// gfx9's shifts of VOP2 clear the upper half of their destination; all read one half of their sources.
TEST(CheckHalves, SumsAndShiftsOfHalves) {
  check({Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950},
        {{"v_fma_mixlo_f16 v1, v0, v0, v0\nv_mac_f16 v1, v0, v0", store_lower, store_upper},
         {"v_fma_mixhi_f16 v1, v0, v0, v0\nv_mac_f16 v1, v0, v0", store_upper, store_lower},
         {"v_fma_mixlo_f16 v2, v0, v0, v0\nv_lshlrev_b16 v1, v2, v0", store_all, ""},
         {"v_fma_mixlo_f16 v2, v0, v0, v0\nv_ashrrev_i16 v1, v0, v2", store_all, ""},
         {"v_fma_mixhi_f16 v2, v0, v0, v0\nv_lshlrev_b16 v1, v2, v0", store_upper, store_lower},
         {"v_fma_mixlo_f16 v2, v0, v0, v0\nv_mad_u16 v1, v2, v0, v0", store_lower, store_upper},
         {"v_fma_mixlo_f16 v2, v0, v0, v0\nv_mad_u16 v1, v2, v0, v0 op_sel:[0,0,0,1]", store_upper, store_lower},
         {"v_mad_u16 v1, v0, v0, v0 op_sel:[0,0,0,1]", store_upper, store_lower}});
  check({Arch::gfx1100, Arch::gfx1151, Arch::gfx1201},
        {{"v_cvt_f16_f32 v1.l, v0\nv_fmac_f16 v1.l, v0.l, v0.h", store_lower, store_upper},
         {"v_cvt_f16_f32 v1.h, v0\nv_fmac_f16 v1.h, v0.l, v0.h", store_upper, store_lower},
         {"v_cvt_f16_f32 v1.h, v0\nv_fmac_f16 v1.l, v0.l, v0.h", store_upper, store_lower},
         {"v_cvt_f16_f32 v2.h, v0\nv_lshlrev_b16 v1.l, v2.h, v0.h", store_lower, store_upper},
         {"v_cvt_f16_f32 v2.l, v0\nv_ashrrev_i16 v1.h, v0.l, v2.l", store_upper, store_lower},
         {"v_cvt_f16_f32 v1.h, v0\nv_lshlrev_b16 v1.l, v2.l, v0.h", store_upper, store_lower}});
}

TEST(CheckHalves, PairsAreFollowedByHalves) {
  check({Arch::gfx908, Arch::gfx942},
        {{"v_fma_mixlo_f16 v1, v0, v0, v0\nv_pk_fmac_f16 v1, v0, v0", store_lower, store_upper}});
  check({Arch::gfx1100, Arch::gfx1201},
        {{"v_fma_mixhi_f16 v1, v0, v0, v0\nv_pk_fmac_f16 v1, v0, v0", store_upper, store_lower}});
}

TEST(CheckHalves, SdwaPadsExtendsAndPreserves) {
  check({Arch::gfx908, Arch::gfx90a, Arch::gfx942},
        {{"v_add_u32_sdwa v1, v2, v0 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD", store_lower,
          store_upper},
         {"v_add_u32_sdwa v1, v2, v0 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
          "global_store_byte v0, v1, s[4:5]\nglobal_store_short_d16_hi v0, v1, s[4:5]", store_lower},
         {"v_add_u32_sdwa v1, v2, v0 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:DWORD src1_sel:DWORD",
          "global_store_byte v0, v1, s[4:5]", store_upper},
         {"v_add_u32_sdwa v1, v0, v0 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
          store_upper, store_lower},
         {"v_add_u32_sdwa v1, v0, v0 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:DWORD",
          "global_store_byte_d16_hi v0, v1, s[4:5]", store_upper},
         {"v_fma_mixhi_f16 v2, v0, v0, v0\n"
          "v_add_u32_sdwa v1, v2, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
          store_all, ""}});
}

TEST(CheckHalves, SmallFloatsGoToAHalfOrAByte) {
  check({Arch::gfx942, Arch::gfx950},
        {{"v_cvt_pk_fp8_f32 v1, v0, v0", store_lower, store_upper},
         {"v_cvt_pk_bf8_f32 v1, v0, v0 op_sel:[0,0,1]", store_upper, store_lower},
         {"v_cvt_pk_fp8_f32 v1, v0, v0\nv_cvt_pk_fp8_f32 v1, v0, v0 op_sel:[0,0,1]", store_all, ""},
         {"v_cvt_sr_fp8_f32 v1, v0, v0 op_sel:[0,0,0,1]", "global_store_byte_d16_hi v0, v1, s[4:5]", store_upper},
         {"v_cvt_pk_fp8_f32 v2, v0, v0", "v_cvt_f32_fp8_sdwa v1, v2 src0_sel:BYTE_1\nglobal_store_dword v0, v1, s[4:5]",
          "v_cvt_f32_fp8_sdwa v1, v2 src0_sel:BYTE_2\nglobal_store_dword v0, v1, s[4:5]"},
         {"v_cvt_pk_fp8_f32 v2, v0, v0", "v_cvt_pk_f32_fp8 v[6:7], v2\nglobal_store_dwordx2 v0, v[6:7], s[4:5]",
          "v_cvt_pk_f32_fp8_sdwa v[6:7], v2 src0_sel:WORD_1\nglobal_store_dwordx2 v0, v[6:7], s[4:5]"}});
  check({Arch::gfx950}, {{"v_cvt_scalef32_pk_fp8_f32 v1, v0, v0, v0", store_lower, store_upper},
                         {"v_cvt_scalef32_pk_fp4_f32 v1, v0, v0, v0", "global_store_byte v0, v1, s[4:5]", store_lower},
                         {"v_cvt_sr_f16_f32 v1, v0, v0", store_lower, store_upper}});
  check({Arch::gfx1201}, {{"v_cvt_pk_fp8_f32 v1.l, v0, v0", store_lower, store_upper},
                          {"v_cvt_pk_fp8_f32 v1.h, v0, v0", store_upper, store_lower},
                          {"v_cvt_sr_bf8_f32 v1, v0, v0 byte_sel:3",
                           "v_lshrrev_b32 v1, 24, v1\nglobal_store_dword v0, v1, s[4:5]", store_all}});
}

TEST(CheckHalves, StoresOfUpperHalves) {
  const auto through = [](const char* store, const char* load) { return std::string(store) + "\n" + load; };
  struct Way {
    std::string lower, upper;
  };
  const std::string load = "ds_read_u16 v3, v0\nglobal_store_dword v0, v3, s[4:5]";
  const std::string private_load = "scratch_load_ushort v3, off, s8\nglobal_store_dword v0, v3, s[4:5]";
  for (const Arch arch : {Arch::gfx908, Arch::gfx942, Arch::gfx1100, Arch::gfx1201}) {
    const std::string zero = "s_mov_b32 s8, 0\n";
    const Way ways[] = {
        {through("ds_write_b16 v0, v1", load.c_str()), through("ds_write_b16_d16_hi v0, v1", load.c_str())},
        {zero + through("scratch_store_short off, v1, s8", private_load.c_str()),
         zero + through("scratch_store_short_d16_hi off, v1, s8", private_load.c_str())}};
    for (const Way& way : ways) {
      check({arch}, {{"v_fma_mixlo_f16 v1, v0, v0, v0", way.lower.c_str(), way.upper.c_str()},
                     {"v_fma_mixhi_f16 v1, v0, v0, v0", way.upper.c_str(), way.lower.c_str()}});
    }
  }
}

// Every form of every vector operation: the bits of its destination that the facts say are kept are kept.
class HalvesEach : public testing::TestWithParam<Arch> {};

TEST_P(HalvesEach, TheDestinationKeepsWhatTheFactsSay) {
  OneWave wave(GetParam());
  unsigned parts = 0;
  for (const VopForm& form : vop_forms(GetParam())) {
    if (form.dst.file != 'v' || form.dst.dwords != 1) continue;
    if (form.starts_with("v_permlane64")) continue;  // in a wave of 32 it does nothing
    for (const unsigned op_sel : {0U, 4U, 8U, 12U}) {
      Sample words = form.words;
      if (op_sel != 0 && (!form.e64 || form.is_vop3p())) continue;
      words[0] |= op_sel << 11;
      const auto instruction = decode_form(form, words);
      if (!instruction) continue;
      VopBench bench(wave, form);
      const WrittenBits written = written_bits(*instruction, GetParam());
      const bool adds = (instruction->opcode->traits & trait::reads_dst) != 0;
      const std::vector<std::uint32_t> ones(bench.before().size(), ~0U), zeros(ones.size(), 0);
      const VopResult a = bench.run(*instruction, ones), b = bench.run(*instruction, zeros);
      std::uint32_t stays = ~0U, zero = ~0U;
      for (std::size_t l = 0; l < form.lanes; ++l) {
        stays &= a.vgprs[l] & ~b.vgprs[l];
        zero &= ~a.vgprs[l] & ~b.vgprs[l];
      }
      parts += written.kept() != 0 ? 1 : 0;
      EXPECT_EQ(written.kept() & ~stays, 0U) << name(form.arch) << " " << form.text << " op_sel " << op_sel;
      EXPECT_EQ(written.cleared & ~zero, 0U) << name(form.arch) << " " << form.text << " op_sel " << op_sel;
      if (!adds) {
        EXPECT_EQ(stays & ~written.kept(), 0U) << name(form.arch) << " " << form.text << " op_sel " << op_sel;
      }
    }
  }
  EXPECT_GT(parts, 40U);
}

// Bits of a source that are not used change nothing.
TEST_P(HalvesEach, WhatIsNotReadChangesNothing) {
  OneWave wave(GetParam());
  unsigned parts = 0;
  for (const VopForm& form : vop_forms(GetParam())) {
    if (form.is_matrix() || form.starts_with("v_swap")) continue;  // (swaps change their source)
    for (const unsigned op_sel : {0U, 1U, 2U, 3U, 4U}) {
      Sample words = form.words;
      if (op_sel != 0 && !form.e64) continue;
      words[0] |= op_sel << 11;
      const auto instruction = decode_form(form, words);
      if (!instruction) continue;
      VopBench bench(wave, form);
      const VopResult plain = bench.run(*instruction);
      for (const VopSource& source : form.sources) {
        const std::uint32_t ignored = source.in.dwords == 1 ? ~read_bits(*instruction, source.number) : 0;
        if (ignored == 0 || source.in.file == 's') continue;
        ++parts;
        std::vector<std::uint32_t> rows = bench.source(source);
        for (std::uint32_t& v : rows) v ^= ignored;
        bench.set_source(source, rows);
        EXPECT_EQ(bench.run(*instruction), plain) << name(form.arch) << " " << form.text << " op_sel " << op_sel;
        bench.reset_sources();
      }
    }
  }
  EXPECT_GT(parts, 100U);
}

INSTANTIATE_TEST_SUITE_P(All, HalvesEach,
                         testing::Values(Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950, Arch::gfx1100,
                                         Arch::gfx1151, Arch::gfx1201),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace rapt::sim::test
