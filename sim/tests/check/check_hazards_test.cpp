// The sanitizer's check of hazards: for each rule a pair of instructions that is one wait state (gfx9) or one VALU
// instruction (gfx11, gfx12) too close, and the same pair with it. The numbers come from the ISA documents' tables.
#include "sim/tests/support/check_run.hpp"

#include <gtest/gtest.h>

#include <map>

namespace rapt::sim::test {
namespace {

using enum Arch;

std::string hazards(Arch arch, const std::string& text, unsigned lanes = 0) {
  return finding(make_hazard_check, arch, text, lanes);
}

std::string nops(unsigned states) {
  std::string text;
  for (; states > 16; states -= 16) text += "s_nop 15\n";
  return states > 0 ? text + "s_nop " + std::to_string(states - 1) + "\n" : text;
}

struct Rule {
  std::vector<Arch> archs;
  const char* first;
  const char* then;
  unsigned states;  // that must be between; 0: none
};

void check_rules(const std::vector<Rule>& rules) {
  std::map<Arch, std::string> all;
  for (const Rule& rule : rules)
    for (const Arch arch : rule.archs) all[arch] += std::string(rule.first) + "\n" + rule.then + "\n";
  for (const auto& [arch, text] : all) {
    std::string source = text;
    for (unsigned states = 1; states <= 16; ++states) source += nops(states);
    decoded_lines().get(arch, 64, source);
  }
  for (const Rule& rule : rules)
    for (const Arch arch : rule.archs) {
      const std::string first = std::string(rule.first) + "\n";
      SCOPED_TRACE(std::string(name(arch)) + ": " + first + rule.then);
      EXPECT_EQ(hazards(arch, first + nops(rule.states) + rule.then), "");
      if (rule.states == 0) continue;
      const std::string found = hazards(arch, first + nops(rule.states - 1) + rule.then);
      const std::string needs = "which needs " + std::to_string(rule.states);
      EXPECT_TRUE(found.ends_with(needs)) << found << " / " << needs;
      EXPECT_NE(hazards(arch, first + rule.then), "");
    }
}

const std::vector<Arch> all_gfx9 = {gfx906, gfx908, gfx90a, gfx942, gfx950};
const std::vector<Arch> from_gfx90a = {gfx90a, gfx942, gfx950};
const std::vector<Arch> gfx940 = {gfx942, gfx950};

TEST(WaitStates, Scalars) {
  check_rules({

      Rule{all_gfx9, "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[4:5]", 5},
      Rule{all_gfx9, "v_cmp_eq_u32 s[8:9], v0, v1", "buffer_load_dword v1, off, s[8:11], 0", 5},
      Rule{all_gfx9, "v_readfirstlane_b32 s4, v0", "global_load_dword v1, v2, s[6:7]", 0},
      Rule{all_gfx9, "s_mov_b32 s4, 0", "global_load_dword v1, v2, s[4:5]", 0},
      Rule{all_gfx9, "v_cmp_eq_u32 vcc, v0, v1", "v_div_fmas_f32 v0, v1, v2, v3", 4},
      Rule{all_gfx9, "v_readfirstlane_b32 s4, v0", "v_readlane_b32 s5, v1, s4", 4},
      Rule{all_gfx9, "v_readfirstlane_b32 s4, v0", "v_writelane_b32 v1, 7, s4", 4},
      Rule{all_gfx9, "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 3", "s_getreg_b32 s0, hwreg(HW_REG_MODE)", 2},
      Rule{all_gfx9, "s_setreg_b32 hwreg(HW_REG_MODE), s1", "s_setreg_b32 hwreg(HW_REG_MODE, 4, 4), s0", 2},
      Rule{all_gfx9, "s_setreg_b32 hwreg(HW_REG_MODE), s1", "s_getreg_b32 s0, hwreg(HW_REG_STATUS)", 0},
      Rule{all_gfx9, "s_setreg_b32 hwreg(HW_REG_MODE), s1", "v_mov_b32 v0, v1", 2},
      Rule{all_gfx9, "s_setreg_b32 hwreg(HW_REG_MODE, 20, 9), s1", "v_mov_b32 v0, v1", 2},
      Rule{all_gfx9, "s_setreg_b32 hwreg(HW_REG_MODE, 29, 3), s1", "v_mov_b32 v0, v1", 0},
      Rule{all_gfx9, "s_setreg_b32 hwreg(HW_REG_MODE, 20, 8), s1", "v_mov_b32 v0, v1", 0},
      Rule{all_gfx9, "s_setreg_b32 hwreg(HW_REG_STATUS), s1", "v_mov_b32 v0, v1", 0},
      Rule{all_gfx9, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1", "global_load_dword v1, v2, s[6:7]", 2},
      Rule{all_gfx9, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1", "ds_read_b32 v1, v2", 2},
      Rule{all_gfx9, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 28, 1), 1", "s_add_u32 s0, s1, s2", 0},
      Rule{all_gfx9, "s_setvskip s4, 3", "s_getreg_b32 s0, hwreg(HW_REG_MODE)", 2},
      Rule{all_gfx9, "s_setvskip s4, 3", "s_getreg_b32 s0, hwreg(HW_REG_STATUS)", 0},
      Rule{all_gfx9, "s_setvskip s4, 3", "v_mov_b32 v0, v1", 0},
      Rule{all_gfx9, "s_mov_b32 m0, 0", "s_movrels_b32 s0, s1", 1},
      Rule{all_gfx9, "s_mov_b32 m0, 0", "s_sendmsg sendmsg(MSG_INTERRUPT)", 1},
      Rule{gfx940, "s_mov_b32 m0, 0", "global_load_lds_dword v[0:1], off", 1},
      Rule{{gfx908}, "s_mov_b32 m0, 0", "buffer_load_dword v0, s[0:3], 0 offen lds", 1},
      Rule{gfx940, "s_mov_b32 m0, 0", "buffer_load_dword v0, s[0:3], 0 offen lds", 0},
      Rule{all_gfx9, "s_mov_b32 m0, 0", "ds_read_addtid_b32 v0", 1},
      Rule{all_gfx9, "v_cmpx_eq_u32 vcc, v0, v1", "v_mov_b32_dpp v2, v3 row_shl:1", 5},
      Rule{gfx940, "v_cmp_eq_u32 s[4:5], v0, v1", "v_cndmask_b32 v2, v3, v4, s[4:5]", 2},
      Rule{gfx940, "v_cmp_eq_u32 vcc, v0, v1", "v_cndmask_b32 v2, v3, v4, vcc", 2},
      Rule{{gfx908, gfx90a}, "v_cmp_eq_u32 vcc, v0, v1", "v_cndmask_b32 v2, v3, v4, vcc", 0},
      Rule{gfx940, "v_cmpx_eq_u32 vcc, v0, v1", "v_readlane_b32 s0, v9, 3", 4},
  });
}

TEST(WaitStates, Vectors) {
  check_rules({
      Rule{all_gfx9, "v_mov_b32 v3, 0", "v_mov_b32_dpp v2, v3 row_shl:1", 2},
      Rule{all_gfx9, "v_mov_b32 v4, 0", "v_mov_b32_dpp v2, v3 row_shl:1", 0},
      Rule{{gfx908, gfx90a}, "global_store_dwordx3 v[0:1], v[2:4], off", "v_mov_b32 v4, 0", 1},
      Rule{gfx940, "global_store_dwordx4 v[0:1], v[2:5], off", "v_mov_b32 v5, 0", 2},
      Rule{gfx940, "global_store_dwordx2 v[0:1], v[2:3], off", "v_mov_b32 v3, 0", 0},
      Rule{gfx940, "buffer_store_dwordx4 v[2:5], v0, s[0:3], 0 offen", "v_mov_b32 v5, 0", 2},
      Rule{gfx940, "buffer_store_dwordx4 v[2:5], v0, s[0:3], s4 offen", "v_mov_b32 v5, 0", 0},
      Rule{gfx940, "v_rcp_f32 v1, v0", "v_add_f32 v2, v1, v1", 1},
      Rule{gfx940, "v_rcp_f32 v1, v0", "v_exp_f32 v2, v1", 0},
      Rule{{gfx908, gfx90a}, "v_rcp_f32 v1, v0", "v_add_f32 v2, v1, v1", 0},
      Rule{gfx940, "v_mov_b32 v1, v0", "v_readlane_b32 s0, v1, 3", 1},
      Rule{gfx940, "v_mov_b32 v1, v0", "v_readfirstlane_b32 s0, v1", 1},
      Rule{{gfx908, gfx90a}, "v_mov_b32 v1, v0", "v_readfirstlane_b32 s0, v1", 0},
      Rule{gfx940, "v_add_f16_sdwa v1, v2, v3 dst_sel:WORD_1", "v_mov_b32 v4, v1", 1},
      Rule{gfx940, "v_add_f16_sdwa v1, v2, v3 dst_sel:DWORD", "v_mov_b32 v4, v1", 0},
      Rule{gfx940, "v_cvt_pk_fp8_f32 v1, v2, v3 op_sel:[0,0,1]", "v_mov_b32 v4, v1", 1},
      Rule{{gfx950}, "v_cvt_scalef32_sr_pk_fp4_f32 v1, v[2:3], v4, v5", "v_mov_b32 v4, v1", 1},
      Rule{{gfx950}, "v_mov_b32 v1, v0", "v_permlane32_swap_b32 v1, v2", 2},
      Rule{{gfx950}, "v_mov_b32 v2, v0", "v_permlane16_swap_b32 v1, v2", 2},
      Rule{{gfx950}, "v_cmpx_eq_u32 vcc, v0, v1", "v_permlane16_swap_b32 v1, v2", 4},
      Rule{from_gfx90a, "v_dot2_f32_f16 v0, v1, v2, v3", "v_dot2_f32_f16 v4, v0, v2, v3", 3},
      Rule{from_gfx90a, "v_dot2_f32_f16 v0, v1, v2, v3", "v_dot2_f32_f16 v0, v1, v2, v0", 0},
      Rule{from_gfx90a, "v_dot2_f32_f16 v0, v1, v2, v3", "v_dot4_i32_i8 v0, v1, v2, v3", 3},
      Rule{from_gfx90a, "v_dot2_f32_f16 v0, v1, v2, v3", "v_add_f32 v5, v0, v0", 3},
      Rule{from_gfx90a, "v_dot2_f32_f16 v0, v1, v2, v3", "global_store_dword v[8:9], v0, off", 3},
      Rule{{gfx908}, "v_dot2_f32_f16 v0, v1, v2, v3", "v_add_f32 v5, v0, v0", 0},
  });
}

// MI100: products write AGPRs.
TEST(WaitStates, Gfx908) {
  check_rules({
      Rule{{gfx908}, "v_mov_b32 v1, 0", "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]", 2},
      Rule{{gfx908}, "v_cmpx_eq_u32 vcc, v0, v1", "v_mfma_f32_4x4x1f32 a[0:3], v2, v3, a[0:3]", 4},
      Rule{{gfx908}, "v_mov_b32 v1, 0", "v_accvgpr_write_b32 a0, v1", 2},
      Rule{{gfx908}, "v_accvgpr_write_b32 a1, v0", "v_mfma_f32_4x4x1f32 a[0:3], v2, v3, a[0:3]", 1},
      Rule{{gfx908}, "v_accvgpr_write_b32 a4, v0", "v_mfma_f32_4x4x1f32 a[0:3], a4, v3, a[0:3]", 3},
      Rule{{gfx908}, "v_accvgpr_write_b32 a4, v0", "v_accvgpr_read_b32 v1, a4", 3},
      Rule{{gfx908}, "v_accvgpr_read_b32 v1, a4", "global_store_dword v[2:3], v1, off", 2},
      Rule{{gfx908}, "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]", "v_accvgpr_read_b32 v1, a3", 4},
      Rule{{gfx908}, "v_mfma_f32_16x16x1f32 a[0:15], v0, v1, a[0:15]", "v_accvgpr_read_b32 v1, a3", 10},
      Rule{{gfx908}, "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", "v_accvgpr_read_b32 v1, a3", 18},
      Rule{{gfx908}, "v_mfma_f32_32x32x1f32 a[0:31], v0, v1, a[0:31]", "v_accvgpr_write_b32 a3, v1", 15},
      Rule{{gfx908}, "v_mfma_f32_16x16x1f32 a[0:15], v0, v1, a[16:31]", "v_accvgpr_write_b32 a20, v1", 5},
      Rule{{gfx908},
           "v_mfma_f32_16x16x1f32 a[0:15], v0, v1, a[0:15]",
           "v_mfma_f32_16x16x1f32 a[0:15], v0, v1, a[0:15]",
           0},
      Rule{
          {gfx908}, "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]", "v_mfma_f32_16x16x1f32 a[16:31], v0, v1, a[0:15]", 2},
      Rule{{gfx908},
           "v_mfma_f32_4x4x1f32 a[0:3], v0, v1, a[0:3]",
           "v_mfma_f32_16x16x1f32 a[16:31], a2, v1, a[16:31]",
           4},
  });
}

TEST(WaitStates, Gfx90a) {
  check_rules({

      Rule{from_gfx90a, "v_mov_b32 v1, 0", "v_mfma_i32_4x4x4i8 v[8:11], v0, v1, v[8:11]", 2},
      Rule{from_gfx90a, "v_accvgpr_write_b32 a1, 0", "v_mfma_i32_4x4x4i8 a[0:3], v0, v1, a[0:3]", 2},
      Rule{from_gfx90a, "v_cmpx_eq_u32 vcc, v0, v1", "v_mfma_i32_4x4x4i8 v[8:11], v2, v3, v[8:11]", 4},
      Rule{{gfx90a}, "v_mfma_f32_4x4x1f32 v[0:3], v8, v9, v[0:3]", "v_add_f32 v4, v3, v3", 5},
      Rule{{gfx90a}, "v_mfma_f32_16x16x1f32 v[0:15], v28, v29, v[0:15]", "global_store_dword v[30:31], v15, off", 11},
      Rule{{gfx90a}, "v_mfma_f32_32x32x1f32 a[0:31], v8, v9, a[0:31]", "v_accvgpr_read_b32 v4, a31", 19},
      Rule{{gfx90a}, "v_mfma_f32_32x32x1f32 a[0:31], v8, v9, a[0:31]", "v_accvgpr_write_b32 a31, v4", 19},
      Rule{{gfx90a}, "v_mfma_f32_16x16x1f32 v[0:15], v28, v29, v[0:15]", "ds_write_b32 v30, v15", 11},
      Rule{{gfx90a},
           "v_mfma_f32_16x16x1f32 v[0:15], v28, v29, v[0:15]",
           "v_mfma_f32_16x16x1f32 v[0:15], v28, v29, v[0:15]",
           0},
      Rule{{gfx90a},
           "v_mfma_f32_16x16x1f32 v[0:15], v28, v29, v[0:15]",
           "v_mfma_f32_16x16x1f32 v[2:17], v28, v29, v[2:17]",
           8},
      Rule{{gfx90a},
           "v_mfma_f32_16x16x1f32 v[0:15], v28, v29, v[0:15]",
           "v_mfma_f32_4x4x1f32 v[16:19], v28, v2, v[16:19]",
           11},
      // C of a product may not be overwritten at once.
      Rule{{gfx90a}, "v_mfma_f32_16x16x1f32 a[0:15], v28, v29, a[16:31]", "v_accvgpr_write_b32 a20, 0", 7},
      Rule{
          {gfx90a}, "v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7]", "v_add_f64 v[12:13], v[0:1], v[0:1]", 11},
      Rule{{gfx90a},
           "v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[0:7]",
           "global_store_dword v[12:13], v0, off",
           18},
      Rule{{gfx90a}, "v_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]", "v_add_f64 v[12:13], v[0:1], v[0:1]", 6},
      Rule{{gfx90a}, "v_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]", "global_store_dword v[12:13], v0, off", 9},
      Rule{from_gfx90a, "v_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]",
           "v_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]", 4},
      Rule{from_gfx90a, "v_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]",
           "v_fma_f64 v[20:21], v[22:23], v[24:25], v[26:27]", 2},
      Rule{{gfx90a},
           "v_mov_b32 v5, 0\nv_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]",
           "global_store_dword v[12:13], v6, off",
           0},
  });
}

constexpr const char* half_product = "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[0:3]";

TEST(WaitStates, Gfx940) {
  check_rules({
      Rule{gfx940, "v_mfma_i32_4x4x4i8 v[0:3], v8, v9, v[0:3]", "v_add_f32 v4, v3, v3", 5},
      Rule{{gfx942}, half_product, "v_add_f32 v4, v3, v3", 7},
      Rule{{gfx950}, half_product, "v_add_f32 v4, v3, v3", 8},
      Rule{{gfx942}, "v_mfma_f32_32x32x8_f16 v[0:15], v[28:29], v[30:31], v[0:15]", "v_mov_b32 v3, 0", 11},
      Rule{{gfx950}, "v_mfma_f32_32x32x16_f16 v[0:15], v[24:27], v[28:31], v[0:15]", "v_mov_b32 v3, 0", 12},
      Rule{{gfx942},
           "v_mfma_f32_32x32x4_2b_f16 a[0:31], v[28:29], v[30:31], a[0:31]",
           "global_store_dword v[0:1], a3, off",
           19},
      // f32 products end earlier.
      Rule{gfx940, "v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]", "v_add_f32 v4, v3, v3", 10},
      Rule{gfx940, "v_mfma_f32_32x32x2_f32 v[0:15], v18, v19, v[0:15]", "v_add_f32 v24, v3, v3", 18},
      Rule{{gfx942}, "v_mfma_f32_16x16x8_xf32 v[0:3], v[8:9], v[10:11], v[0:3]", "v_add_f32 v4, v3, v3", 7},
      Rule{{gfx942}, "v_mfma_f32_16x16x16_f16 v[0:3], v[8:9], v[10:11], v[4:7]", "v_mov_b32 v6, 0", 3},
      Rule{gfx940, "v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[4:7]", "v_mov_b32 v6, 0", 0},
      Rule{{gfx942},
           "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]",
           "v_add_f64 v[12:13], v[0:1], v[0:1]",
           11},
      Rule{{gfx950},
           "v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], v[0:7]",
           "v_add_f64 v[12:13], v[0:1], v[0:1]",
           19},
      Rule{{gfx950}, "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:23], v[0:3]", "v_mov_b32 v30, v0", 8},
      Rule{{gfx950},
           "v_mfma_scale_f32_32x32x64_f8f6f4 v[0:15], v[16:23], v[24:31], v[0:15], v32, v33",
           "v_mov_b32 v40, v0",
           12},
  });
}

TEST(WaitStates, ProductAfterProductOfGfx940) {
  check_rules({
      // C: forwarded if it is in the same registers, except for the shortest products; otherwise not.
      Rule{gfx940, half_product, half_product, 0},
      Rule{gfx940, "v_mfma_i32_4x4x4i8 v[0:3], v8, v9, v[0:3]", "v_mfma_i32_4x4x4i8 v[0:3], v8, v9, v[0:3]", 2},
      Rule{{gfx942}, half_product, "v_mfma_f32_16x16x16_f16 v[2:5], v[8:9], v[10:11], v[2:5]", 5},
      Rule{{gfx950}, half_product, "v_mfma_f32_16x16x16_f16 v[2:5], v[8:9], v[10:11], v[2:5]", 6},
      Rule{gfx940, "v_mfma_f32_16x16x4_f32 v[0:3], v8, v9, v[0:3]", "v_mfma_f32_16x16x4_f32 v[2:5], v8, v9, v[2:5]", 8},
      Rule{{gfx942}, half_product, "v_mfma_f32_16x16x16_f16 v[12:15], v[2:3], v[10:11], v[12:15]", 7},
      Rule{{gfx950}, half_product, "v_mfma_f32_16x16x16_f16 v[12:15], v[2:3], v[10:11], v[12:15]", 8},
      // The sum of a sparse product is its destination, its index a factor.
      Rule{gfx940, "v_smfmac_f32_16x16x32_f16 v[0:3], v[8:9], v[12:15], v20",
           "v_smfmac_f32_16x16x32_f16 v[0:3], v[8:9], v[12:15], v20", 0},
      Rule{{gfx942}, half_product, "v_smfmac_f32_16x16x32_f16 v[24:27], v[8:9], v[12:15], v2", 7},
  });
}

// gfx90a: a product of f64 between a VALU result and the memory instruction that reads it.
TEST(Hazards, F64ProductHidesVectorResultFromMemory) {
  const std::string product = "v_mfma_f64_4x4x4f64 v[0:1], v[8:9], v[10:11], v[0:1]\n";
  const std::string store = "global_store_dword v[12:13], v5, off";
  EXPECT_NE(hazards(gfx90a, "v_mov_b32 v5, 0\n" + product + store), "");
  EXPECT_EQ(hazards(gfx90a, "v_mov_b32 v5, 0\n" + product + "s_nop 0\n" + store), "");
  EXPECT_EQ(hazards(gfx90a, "v_mov_b32 v5, 0\n" + store), "");
  EXPECT_EQ(hazards(gfx942, "v_mov_b32 v5, 0\n" + product + store), "");
}

TEST(Hazards, ReportNamesRegisterDistanceAndProducer) {
  EXPECT_EQ(hazards(gfx942, "v_rcp_f32 v1, v0\nv_add_f32 v2, v1, v1"),
            "v1 is read 0 wait states after v_rcp_f32_e32 v1, v0, which needs 1");
  EXPECT_EQ(
      hazards(gfx942, "v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3]\ns_nop 0\nv_accvgpr_read_b32 v0, a2"),
      "a2 is read 1 wait state after v_mfma_f32_16x16x16_f16 a[0:3], v[8:9], v[10:11], a[0:3], which needs 7");
}

// Other instructions count as wait states too; the latest writer decides.
TEST(Hazards, EveryInstructionIsAWaitState) {
  EXPECT_EQ(
      hazards(
          gfx942,
          "v_readfirstlane_b32 s4, v0\nv_mov_b32 v9, 0\ns_mov_b32 s9, 0\ns_nop 2\nglobal_load_dword v1, v2, s[4:5]"),
      "");
  EXPECT_EQ(hazards(gfx942, "v_mfma_f32_32x32x8_f16 v[0:15], v[28:29], v[30:31], v[0:15]\n" + nops(11) +
                                "v_mov_b32 v3, 0\nv_add_f32 v3, v3, v3"),
            "");
}

struct ValuRule {
  std::vector<Arch> archs;
  unsigned lanes;
  const char* early;
  const char* right;  // the same with the missing part
};

void check_distances(const std::vector<ValuRule>& rules) {
  for (const ValuRule& rule : rules)
    for (const Arch arch : rule.archs) {
      SCOPED_TRACE(name(arch));
      if (*rule.early) {
        EXPECT_NE(hazards(arch, rule.early, rule.lanes), "") << rule.early;
      }
      EXPECT_EQ(hazards(arch, rule.right, rule.lanes), "") << rule.right;
    }
}

TEST(ValuDistance, Products) {
  check_distances({
      ValuRule{{gfx1100, gfx1151},
               32,
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\nv_wmma_f32_16x16x16_f16 "
               "v[24:31], v[0:7], v[16:23], v[24:31]",
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\nv_nop\n"
               "v_wmma_f32_16x16x16_f16 v[24:31], v[0:7], v[16:23], v[24:31]"},
      ValuRule{{gfx1100, gfx1151},
               32,
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\ns_nop 3\n"
               "v_wmma_f32_16x16x16_f16 v[24:31], v[16:23], v[7:14], v[24:31]",
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]\nv_wmma_f32_16x16x16_f16 "
               "v[0:7], v[8:15], v[16:23], v[0:7]"},
      ValuRule{{gfx1201},
               32,
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[0:7]\nv_wmma_f32_16x16x16_f16 "
               "v[24:31], v[0:3], v[16:19], v[24:31]",
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[0:7]\nv_mov_b32 v40, 0\n"
               "v_wmma_f32_16x16x16_f16 v[24:31], v[0:3], v[16:19], v[24:31]"},
      ValuRule{{gfx1201},
               32,
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[0:7]\nv_swmmac_f32_16x16x32_f16 "
               "v[24:31], v[8:11], v[16:23], v7",
               "v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[16:19], v[0:7]\nv_nop\n"
               "v_swmmac_f32_16x16x32_f16 v[24:31], v[8:11], v[16:23], v7"},
  });
}

TEST(ValuDistance, Exec) {
  check_distances({

      ValuRule{{gfx1100, gfx1151, gfx1201},
               32,
               "v_cmpx_eq_u32 v0, v1\nv_nop\nv_permlane16_b32 v2, v3, s0, s1",
               "v_cmpx_eq_u32 v0, v1\nv_mov_b32 v3, v3\nv_permlane16_b32 v2, v3, s0, s1"},
      // Two operands from before and after a change of EXEC.
      ValuRule{{gfx1100, gfx1151},
               64,
               "v_mov_b32 v0, 0\ns_mov_b64 exec, s[0:1]\nv_mov_b32 v1, 0\nv_add_f32 v2, v0, v1",
               "v_mov_b32 v0, 0\ns_mov_b64 exec, s[0:1]\nv_mov_b32 v1, 0\ns_waitcnt_depctr "
               "depctr_va_vdst(0)\nv_add_f32 v2, v0, v1"},
      ValuRule{{gfx1100, gfx1151},
               64,
               "v_mov_b32 v0, 0\nv_nop\ns_mov_b64 exec, s[0:1]\nv_nop\nv_mov_b32 v1, "
               "0\nv_nop\nv_nop\nv_nop\nv_nop\nv_add_f32 v2, v0, v1",
               "v_mov_b32 v0, 0\nv_nop\ns_mov_b64 exec, s[0:1]\nv_nop\nv_mov_b32 v1, "
               "0\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_add_f32 v2, "
               "v0, v1"},
      ValuRule{{gfx1100, gfx1151},
               64,
               "v_mov_b32 v0, 0\nv_nop\nv_nop\ns_mov_b64 exec, s[0:1]\nv_mov_b32 v1, 0\nv_add_f32 v2, v0, v1",
               "v_mov_b32 v0, 0\nv_nop\nv_nop\nv_nop\ns_mov_b64 exec, s[0:1]\nv_mov_b32 v1, 0\nv_add_f32 v2, v0, v1"},
      ValuRule{{gfx1100}, 32, "", "v_mov_b32 v0, 0\ns_mov_b32 exec_lo, s0\nv_mov_b32 v1, 0\nv_add_f32 v2, v0, v1"},
  });
}

TEST(ValuDistance, Transcendental) {
  check_distances({
      ValuRule{{gfx1100},
               32,
               "v_rcp_f32 v0, v1\nv_add_f32 v2, v0, v0",
               "v_rcp_f32 v0, v1\ns_waitcnt_depctr depctr_va_vdst(0)\nv_add_f32 v2, v0, v0"},
      ValuRule{{gfx1100},
               32,
               "v_rcp_f32 v0, v1\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_add_f32 v2, v0, v0",
               "v_rcp_f32 v0, v1\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_nop\nv_add_f32 v2, v0, v0"},
      ValuRule{{gfx1100},
               64,
               "v_rcp_f32 v0, v1\nv_exp_f32 v3, v4\nv_add_f32 v2, v0, v0",
               "v_rcp_f32 v0, v1\nv_exp_f32 v3, v4\nv_exp_f32 v5, v4\nv_add_f32 v2, v0, v0"},
      ValuRule{{gfx1100}, 32, "", "v_rcp_f32 v0, v1\nds_load_b32 v9, v8\nv_add_f32 v2, v0, v0"},
      ValuRule{{gfx1151, gfx1201}, 32, "", "v_rcp_f32 v0, v1\nv_add_f32 v2, v0, v0"},
  });
}

TEST(ValuDistance, Masks) {
  check_distances({
      ValuRule{{gfx1100, gfx1151},
               64,
               "v_cndmask_b32 v0, v1, v2, s[2:3]\ns_mov_b64 s[2:3], 0\nv_mov_b32 v3, s3",
               "v_cndmask_b32 v0, v1, v2, s[2:3]\ns_mov_b64 s[2:3], 0\ns_waitcnt_depctr "
               "depctr_sa_sdst(0)\nv_mov_b32 v3, s3"},
      ValuRule{{gfx1100, gfx1151},
               64,
               "v_cndmask_b32 v0, v1, v2, vcc\ns_mov_b32 vcc_lo, 0\ns_mov_b32 s0, vcc_lo",
               "v_cndmask_b32 v0, v1, v2, vcc\ns_mov_b32 s4, 0\ns_mov_b32 s0, vcc_lo"},
      ValuRule{{gfx1100}, 32, "", "v_cndmask_b32 v0, v1, v2, s2\ns_mov_b32 s2, 0\nv_mov_b32 v3, s2"},
  });
}

}  // namespace
}  // namespace rapt::sim::test
