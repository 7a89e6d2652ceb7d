// The simulator has the operations of compiled attention kernels, and the opcodes of the table in tests/data.
#include "sim/isa/decode.hpp"
#include "sim/machine/core/handlers.hpp"
#include "sim/tests/support/programs/assemble.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

namespace rapt::sim::test {
namespace {

struct Needed {
  unsigned archs;
  const char* mnemonics;
};

// The instructions of flash-attention kernels in fp16 and bf16, with and without causal masks, compiled by clang-19.
const Needed needed[] = {
    {only(Arch::gfx908) | only(Arch::gfx90a) | only(Arch::gfx942) | only(Arch::gfx1100) | only(Arch::gfx1151) |
         only(Arch::gfx1201),
     "s_branch s_cbranch_execnz s_cbranch_execz s_cbranch_scc1 s_cmp_eq_u32 s_cmp_ge_i32 s_cmp_lt_i32 "
     "s_cselect_b32 s_endpgm s_lshl_b32 s_lshl_b64 s_min_i32 s_mov_b32 v_add3_u32 v_add_co_u32 v_add_f32 "
     "v_and_b32 v_and_or_b32 v_ashrrev_i32 v_bfe_u32 v_cmp_gt_u32 v_cmp_le_i32 v_cndmask_b32 "
     "v_div_fixup_f32 v_div_fmas_f32 v_div_scale_f32 v_exp_f32 v_fma_f32 v_fmac_f32 v_log_f32 "
     "v_lshlrev_b32 v_lshlrev_b64 v_lshrrev_b32 v_mad_u32_u24 v_mov_b32 v_mul_f32 v_mul_u32_u24 v_or3_b32 "
     "v_or_b32 v_rcp_f32 v_sub_f32"},
    {only(Arch::gfx908) | only(Arch::gfx90a) | only(Arch::gfx942) | only(Arch::gfx1100) | only(Arch::gfx1151),
     "s_add_i32 s_add_u32 s_addc_u32 s_barrier s_mul_hi_i32 s_mul_i32 s_waitcnt v_cmp_eq_u32 v_lshl_or_b32 "
     "v_max3_f32 v_max_f32"},
    {only(Arch::gfx908) | only(Arch::gfx1100) | only(Arch::gfx1151) | only(Arch::gfx1201), "v_fma_mixlo_f16"},
    {only(Arch::gfx908) | only(Arch::gfx90a) | only(Arch::gfx942) | only(Arch::gfx1201), "v_cmp_lt_i32 v_perm_b32"},
    {only(Arch::gfx1100) | only(Arch::gfx1151) | only(Arch::gfx1201),
     "ds_load_b128 ds_load_u16 ds_load_u16_d16_hi ds_store_b128 global_load_b128 global_store_b32 "
     "s_and_b32 s_and_not1_b32 s_and_saveexec_b32 s_clause s_delay_alu s_load_b256 s_load_b64 s_or_b32 "
     "s_sendmsg s_xor_b32 v_add_co_ci_u32 v_add_nc_u32 v_cmp_lt_u32 v_cmpx_eq_u32 v_cvt_pk_rtz_f16_f32 "
     "v_dual_add_f32 v_dual_and_b32 v_dual_fmac_f32 v_dual_lshlrev_b32 v_dual_mov_b32 v_dual_mul_f32 "
     "v_dual_sub_f32 v_permlanex16_b32 v_wmma_f32_16x16x16_bf16 v_wmma_f32_16x16x16_f16"},
    {only(Arch::gfx908) | only(Arch::gfx90a) | only(Arch::gfx942),
     "ds_bpermute_b32 ds_read2_b64 ds_read_u16 ds_write_b128 global_load_dwordx2 global_load_dwordx4 "
     "global_store_dword global_store_dwordx2 s_and_b64 s_and_saveexec_b64 s_andn2_b64 s_cselect_b64 "
     "s_load_dwordx2 s_load_dwordx4 s_load_dwordx8 s_mov_b64 s_movk_i32 s_nop s_or_b64 s_xor_b64 "
     "v_accvgpr_read_b32 v_accvgpr_write_b32 v_add_u32 v_cvt_pkrtz_f16_f32 v_xor_b32"},
    {only(Arch::gfx1100) | only(Arch::gfx1151),
     "buffer_gl0_inv global_store_b16 global_store_d16_hi_b16 s_and_not1_saveexec_b32 s_load_b128 "
     "v_cmp_ne_u32 v_dual_cndmask_b32"},
    {only(Arch::gfx908) | only(Arch::gfx90a), "v_addc_co_u32 v_mfma_f32_32x32x8f16"},
    {only(Arch::gfx90a) | only(Arch::gfx942), "v_cvt_f16_f32 v_pack_b32_f16 v_pk_mul_f32"},
    {only(Arch::gfx1100), "s_waitcnt_depctr"},
    {only(Arch::gfx1201),
     "global_inv global_store_b128 global_wb s_add_co_i32 s_add_nc_u64 s_ashr_i32 s_barrier_signal "
     "s_barrier_wait s_load_b96 s_mul_u64 s_wait_dscnt s_wait_kmcnt s_wait_loadcnt v_fma_mixhi_f16 "
     "v_max3_num_f32 v_max_num_f32"},
    {only(Arch::gfx908), "v_mfma_f32_32x32x4bf16"},
    {only(Arch::gfx90a), "v_mfma_f32_32x32x8bf16_1k v_pk_mov_b32"},
    {only(Arch::gfx942), "v_lshl_add_u64 v_mfma_f32_32x32x8_bf16 v_mfma_f32_32x32x8_f16 v_mov_b64"},
};

TEST(Opcodes, OfAttentionKernelsAreSimulated) {
  std::set<std::string> all;
  for (const Needed& row : needed) {
    std::istringstream words(row.mnemonics);
    for (std::string mnemonic; words >> mnemonic;) {
      all.insert(mnemonic);
      for (int n = 0; n < arch_count; ++n) {
        const Arch arch = static_cast<Arch>(n);
        if (!contains(static_cast<ArchSet>(row.archs), arch)) continue;
        EXPECT_NE(handlers().find(mnemonic, arch, default_lanes(arch)), nullptr) << name(arch) << " " << mnemonic;
      }
    }
  }
  EXPECT_EQ(all.size(), 147U);
}

// They have handlers, which say why.
TEST(Opcodes, RefusedWhenTheyRun) {
  unsigned count = 0;
  for (int n = 0; n < arch_count; ++n) {
    const Arch arch = static_cast<Arch>(n);
    for (const Opcode& opcode : opcodes(arch)) {
      bool refused = false;
      for (const char* stem :
           {"ds_gws_", "ds_ordered_count", "ds_add_gs_reg", "ds_sub_gs_reg", "ds_bvh_stack", "global_atomic_ordered"})
        refused |= opcode.name.starts_with(stem);
      const Handler handler = handlers().find(opcode.name, arch, default_lanes(arch));
      if (!refused || !handler) continue;
      Wave wave;
      Instruction instruction;
      instruction.opcode = &opcode;
      EXPECT_THROW(handler(wave, instruction), Fault) << name(arch) << " " << opcode.name;
      ++count;
    }
  }
  EXPECT_GT(count, 30U);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

constexpr const char* table_path = RAPT_SIM_SOURCE_FOLDER "/tests/data/opcodes.md";

// The marks of tested operations come from a recorded run; all else must match the simulator as it is now. Every
// simulated operation is tested on at least one of its architectures.
TEST(Opcodes, TableIsUpToDate) {
  const std::string folder = temporary_folder() + "/record";
  std::filesystem::create_directory(folder);
  const std::string table = read_text(table_path);
  std::istringstream lines(table);
  std::ofstream record(folder + "/marks.txt");
  unsigned marks = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string mnemonic, cell;
    if (!line.starts_with('|') || line.starts_with("| ")) continue;
    std::getline(cells, cell, '|');
    std::getline(cells, mnemonic, '|');
    for (int n = 0; n < arch_count && std::getline(cells, cell, '|'); ++n) {
      if (cell == "T") record << name(static_cast<Arch>(n)) << ' ' << mnemonic << '\n', ++marks;
      EXPECT_TRUE(cell != "+" && cell != "t") << mnemonic << " of " << name(static_cast<Arch>(n)) << " needs a test";
    }
  }
  record.close();
  EXPECT_GT(marks, 2000U);
  const std::string now = shell(RAPT_SIM_LIBRARY_FOLDER "/../bin/rapt-sim opcodes --tests " + folder);
  EXPECT_TRUE(now == table) << "write " << table_path << " anew: it says how in its first lines";
}

// Everything between the table's introduction and its first list.
TEST(Opcodes, DocumentationHasTheSummary) {
  const std::string table = read_text(table_path);
  const std::size_t first = table.find("| architecture |"), end = table.find("\n## ");
  ASSERT_LT(first, end);
  const std::string summary = table.substr(first, end - first);
  EXPECT_NE(read_text(RAPT_SIM_SOURCE_FOLDER "/../docs/simulator-coverage.md").find(summary), std::string::npos)
      << "docs/simulator-coverage.md must have this summary:\n"
      << summary;
}

}  // namespace
}  // namespace rapt::sim::test
