// The clock model against what AMD publishes. The clocks of every matrix product: AMD's matrix instruction calculator,
// and for gfx950 the passes in the CDNA4 ISA document. The operations per clock and CU: AMD's white papers.
#include "sim/isa/properties.hpp"
#include "sim/isa/clocks.hpp"
#include "sim/tests/support/programs/kernels.hpp"
#include "sim/tests/support/profiled_code.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

namespace rapt::sim::test {
namespace {

struct Products {
  Arch arch;
  unsigned clocks;
  const char* names;
};

const Products published[] = {
    {Arch::gfx908, 8, "4x4x1f32 4x4x4f16 4x4x2bf16 i32_4x4x4i8"},
    {Arch::gfx908, 32,
     "16x16x1f32 16x16x4f32 16x16x4f16 16x16x16f16 i32_16x16x4i8 i32_16x16x16i8 16x16x2bf16 16x16x8bf16"},
    {Arch::gfx908, 64,
     "32x32x1f32 32x32x2f32 32x32x4f16 32x32x8f16 i32_32x32x4i8 i32_32x32x8i8 32x32x2bf16 32x32x4bf16"},
    {Arch::gfx90a, 8, "4x4x1f32 4x4x4f16 i32_4x4x4i8 4x4x4bf16_1k 4x4x2bf16"},
    {Arch::gfx90a, 16, "f64_4x4x4f64"},
    {Arch::gfx90a, 32,
     "f64_16x16x4f64 16x16x1f32 16x16x4f32 16x16x4f16 16x16x16f16 i32_16x16x4i8 i32_16x16x16i8 16x16x4bf16_1k "
     "16x16x16bf16_1k 16x16x2bf16 16x16x8bf16"},
    {Arch::gfx90a, 64,
     "32x32x1f32 32x32x2f32 32x32x4f16 32x32x8f16 i32_32x32x4i8 i32_32x32x8i8 32x32x4bf16_1k 32x32x8bf16_1k "
     "32x32x2bf16 32x32x4bf16"},
    {Arch::gfx942, 8, "4x4x1_16b_f32 4x4x4_16b_f16 i32_4x4x4_16b_i8 4x4x4_16b_bf16"},
    {Arch::gfx942, 16,
     "f64_4x4x4_4b_f64 16x16x8_xf32 16x16x16_f16 i32_16x16x32_i8 16x16x16_bf16 16x16x32_bf8_bf8 16x16x32_bf8_fp8 "
     "16x16x32_fp8_bf8 16x16x32_fp8_fp8 v_smfmac_f32_16x16x32_f16 v_smfmac_f32_16x16x32_bf16 "
     "v_smfmac_i32_16x16x64_i8 v_smfmac_f32_16x16x64_bf8_bf8 v_smfmac_f32_16x16x64_fp8_fp8"},
    {Arch::gfx942, 32,
     "16x16x1_4b_f32 16x16x4_f32 f64_16x16x4_f64 32x32x4_xf32 16x16x4_4b_f16 32x32x8_f16 i32_16x16x4_4b_i8 "
     "i32_32x32x16_i8 16x16x4_4b_bf16 32x32x8_bf16 32x32x16_bf8_bf8 32x32x16_fp8_fp8 v_smfmac_f32_32x32x16_f16 "
     "v_smfmac_f32_32x32x16_bf16 v_smfmac_i32_32x32x32_i8 v_smfmac_f32_32x32x32_bf8_bf8"},
    {Arch::gfx942, 64, "32x32x1_2b_f32 32x32x2_f32 32x32x4_2b_f16 i32_32x32x4_2b_i8 32x32x4_2b_bf16"},
    {Arch::gfx950, 8, "4x4x1_16b_f32 4x4x4_16b_f16 i32_4x4x4_16b_i8 4x4x4_16b_bf16"},
    {Arch::gfx950, 16,
     "16x16x16_f16 16x16x32_f16 i32_16x16x32_i8 16x16x16_bf16 f64_4x4x4_4b_f64 16x16x32_bf8_bf8 16x16x32_fp8_fp8 "
     "v_smfmac_f32_16x16x64_f16 v_smfmac_f32_16x16x32_f16 v_smfmac_i32_16x16x64_i8"},
    {Arch::gfx950, 32,
     "16x16x1_4b_f32 16x16x4_f32 16x16x4_4b_f16 32x32x8_f16 32x32x16_f16 i32_32x32x16_i8 32x32x8_bf16 "
     "32x32x16_bf8_bf8 v_smfmac_f32_32x32x32_f16 v_smfmac_f32_32x32x16_bf16 v_smfmac_f32_32x32x32_fp8_fp8"},
    {Arch::gfx950, 64, "32x32x1_2b_f32 32x32x2_f32 32x32x4_2b_f16 i32_32x32x4_2b_i8 32x32x4_2b_bf16 f64_16x16x4_f64"},
    {Arch::gfx1100, 16, "v_wmma_i32_16x16x16_iu4"},
    {Arch::gfx1100, 32,
     "v_wmma_f32_16x16x16_f16 v_wmma_f32_16x16x16_bf16 v_wmma_f16_16x16x16_f16 v_wmma_bf16_16x16x16_bf16 "
     "v_wmma_i32_16x16x16_iu8"},
    {Arch::gfx1201, 16,
     "v_wmma_f32_16x16x16_f16 v_wmma_f32_16x16x16_bf16 v_wmma_f16_16x16x16_f16 v_wmma_bf16_16x16x16_bf16 "
     "v_swmmac_f32_16x16x32_f16 v_swmmac_bf16_16x16x32_bf16"},
    {Arch::gfx1201, 8,
     "v_wmma_i32_16x16x16_iu8 v_wmma_i32_16x16x16_iu4 v_wmma_i32_16x16x32_iu4 v_wmma_f32_16x16x16_fp8_fp8 "
     "v_wmma_f32_16x16x16_bf8_fp8 v_swmmac_i32_16x16x32_iu8 v_swmmac_i32_16x16x64_iu4 v_swmmac_f32_16x16x32_fp8_bf8"},
};

std::string full_name(const std::string& word) {
  if (word.starts_with("v_")) return word;
  return word.starts_with("i32_") || word.starts_with("f64_") ? "v_mfma_" + word : "v_mfma_f32_" + word;
}

Clocks of_opcode(Arch arch, const std::string& name, unsigned lanes = 0) {
  if (lanes == 0) lanes = default_lanes(arch);
  for (const Opcode& opcode : opcodes(arch)) {
    if (opcode.name != name) continue;
    Instruction i;
    i.opcode = &opcode;
    return clocks(i, effects(i, lanes), arch, lanes);
  }
  throw std::runtime_error(std::string(sim::name(arch)) + " has no " + name);
}
unsigned taken(const Clocks& c, Pipe pipe) { return c.taken[static_cast<unsigned>(pipe)]; }

TEST(Clocks, OfMatrixProducts) {
  for (const Products& row : published) {
    std::istringstream words(row.names);
    for (std::string word; words >> word;)
      EXPECT_EQ(taken(of_opcode(row.arch, full_name(word)), Pipe::matrix), row.clocks) << name(row.arch) << " " << word;
  }
}

// The calculator's "co-execution": vector arithmetic may issue after 4 or 8 clocks, or only at the end of the product.
TEST(Clocks, ThatProductsKeepVectorArithmeticFromIssuing) {
  EXPECT_EQ(taken(of_opcode(Arch::gfx908, "v_mfma_f32_32x32x8f16"), Pipe::vector), 8U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx90a, "v_mfma_f32_32x32x8f16"), Pipe::vector), 4U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx90a, "v_mfma_f32_32x32x2f32"), Pipe::vector), 4U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx90a, "v_mfma_f64_16x16x4f64"), Pipe::vector), 32U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx942, "v_mfma_f32_32x32x8_bf16"), Pipe::vector), 4U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx942, "v_mfma_f32_32x32x4_xf32"), Pipe::vector), 4U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx942, "v_mfma_f32_32x32x2_f32"), Pipe::vector), 64U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx942, "v_smfmac_f32_32x32x16_f16"), Pipe::vector), 8U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx1100, "v_wmma_f32_16x16x16_f16"), Pipe::vector), 32U);
}

// CDNA4's white paper: 8192 operations per clock and CU with 8-bit elements, 16384 with 6 and 4 bits.
TEST(Clocks, OfScaledProductsByElements) {
  const std::vector<std::string> lines{"v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:15], a[0:3]",
                                       "v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:7], v[8:11], a[0:3] blgp:4",
                                       "v_mfma_f32_16x16x128_f8f6f4 a[0:3], v[0:5], v[8:11], a[0:3] cbsz:2 blgp:4",
                                       "v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[0:3], v[8:11], a[0:15] cbsz:4 blgp:4",
                                       "v_mfma_f32_32x32x64_f8f6f4 a[0:15], v[0:7], v[8:15], a[0:15] cbsz:1 blgp:1"};
  const unsigned expected[] = {32, 32, 16, 32, 64};
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  const auto all = decode_all(Arch::gfx950, 64, assemble(Arch::gfx950, 64, text));
  ASSERT_EQ(all.size(), lines.size());
  for (std::size_t n = 0; n < all.size(); ++n)
    EXPECT_EQ(taken(clocks(all[n], effects(all[n], 64), Arch::gfx950, 64), Pipe::matrix), expected[n]) << lines[n];
}

// Operations per clock and CU: two per fma; SIMDs times lanes over the clocks that the pipe takes.
double rate(Arch arch, const std::string& name, double operations_a_lane, Pipe pipe = Pipe::vector,
            unsigned lanes = 0) {
  if (lanes == 0) lanes = default_lanes(arch);
  return operations_a_lane * lanes * pipes_per_unit(pipe, arch) / taken(of_opcode(arch, name, lanes), pipe);
}

TEST(Clocks, OfVectorArithmeticAsInTheWhitePapers) {
  EXPECT_EQ(rate(Arch::gfx908, "v_fma_f32", 2), 128);
  EXPECT_EQ(rate(Arch::gfx908, "v_fma_f64", 2), 64);
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    EXPECT_EQ(rate(arch, "v_fma_f64", 2), 128);
    EXPECT_EQ(rate(arch, "v_pk_fma_f32", 4), 256);
    EXPECT_EQ(rate(arch, "v_pk_fma_f16", 4), 256);
  }
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1151, Arch::gfx1201}) {
    EXPECT_EQ(rate(arch, "v_fma_f32", 2), 128);
    EXPECT_EQ(rate(arch, "v_fma_f32", 2, Pipe::vector, 64), 128);
    EXPECT_EQ(rate(arch, "v_dual_fmac_f32", 2), 128);
  }
  EXPECT_EQ(rate(Arch::gfx1100, "v_fma_f64", 2), 8);  // 1.92 of 61.4 TFLOP/s in RX 7900 XTX's data sheet
}

TEST(Clocks, OfTranscendentalsAtAQuarterOfTheRate) {
  EXPECT_EQ(rate(Arch::gfx942, "v_exp_f32", 1), 16);
  EXPECT_EQ(rate(Arch::gfx950, "v_exp_f32", 1), 32);  // twice that of CDNA3
  EXPECT_EQ(rate(Arch::gfx950, "v_rcp_f64", 1), 16);
  EXPECT_EQ(rate(Arch::gfx1100, "v_exp_f32", 1, Pipe::transcendental), 16);
  EXPECT_EQ(rate(Arch::gfx1100, "v_exp_f32", 1, Pipe::transcendental, 64), 16);
  EXPECT_EQ(taken(of_opcode(Arch::gfx1100, "v_exp_f32"), Pipe::vector), 1U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx1100, "v_exp_f32", 64), Pipe::vector), 2U);
}

// LLVM's SISchedule: a quarter of the rate before gfx90a and on RDNA, the full one since.
TEST(Clocks, OfIntegerProducts) {
  for (const char* name : {"v_mul_lo_u32", "v_mul_hi_i32", "v_mad_u64_u32"}) {
    EXPECT_EQ(taken(of_opcode(Arch::gfx908, name), Pipe::vector), 16U);
    EXPECT_EQ(taken(of_opcode(Arch::gfx942, name), Pipe::vector), 4U);
    EXPECT_EQ(taken(of_opcode(Arch::gfx1151, name), Pipe::vector), 4U);
  }
  EXPECT_EQ(taken(of_opcode(Arch::gfx908, "v_mul_u32_u24"), Pipe::vector), 4U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx908, "v_lshlrev_b64"), Pipe::vector), 8U);
  EXPECT_EQ(taken(of_opcode(Arch::gfx1201, "v_lshrrev_b64"), Pipe::vector), 2U);
}

// The peak rates of the data sheets, in TFLOP/s, from the product's CUs and clock.
TEST(Clocks, GiveTheProductsPeakRates) {
  const auto peak = [](Arch arch, const std::string& product, double m, double n, double k) {
    const Properties& p = properties(arch);
    const unsigned clocks = taken(of_opcode(arch, product), Pipe::matrix);
    return 2 * m * n * k / clocks * p.simds_per_unit * p.compute_units * p.clock_khz * 1e-9;
  };
  EXPECT_NEAR(peak(Arch::gfx908, "v_mfma_f32_32x32x8f16", 32, 32, 8), 184.6, 0.1);
  EXPECT_NEAR(peak(Arch::gfx90a, "v_mfma_f32_32x32x8bf16_1k", 32, 32, 8), 191.5, 0.1);
  EXPECT_NEAR(peak(Arch::gfx942, "v_mfma_f32_32x32x8_bf16", 32, 32, 8), 1307, 1);
  EXPECT_NEAR(peak(Arch::gfx942, "v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32), 2615, 1);
  EXPECT_NEAR(peak(Arch::gfx950, "v_mfma_f32_16x16x32_bf16", 16, 16, 32), 2516, 1);
  EXPECT_NEAR(peak(Arch::gfx1100, "v_wmma_f32_16x16x16_f16", 16, 16, 16), 122.8, 1);
  EXPECT_NEAR(peak(Arch::gfx1201, "v_wmma_f32_16x16x16_fp8_fp8", 16, 16, 16), 389, 1);
}

TEST(Clocks, OfIdleInstructions) {
  const auto issue = [](Arch arch, const std::string& text) {
    const auto all = decode_all(arch, default_lanes(arch), assemble(arch, default_lanes(arch), text));
    return clocks(all.at(0), effects(all[0], default_lanes(arch)), arch, default_lanes(arch)).issue;
  };
  EXPECT_EQ(issue(Arch::gfx942, "s_nop 4"), 20U);
  EXPECT_EQ(issue(Arch::gfx1100, "s_nop 4"), 5U);
  EXPECT_EQ(issue(Arch::gfx1100, "s_nop 0x7f"), 16U);  // four bits
  EXPECT_EQ(issue(Arch::gfx1201, "s_nop 0x7f"), 128U);
  EXPECT_EQ(issue(Arch::gfx942, "s_sleep 3"), 192U);
  EXPECT_EQ(issue(Arch::gfx942, "s_waitcnt 0"), 4U);
  EXPECT_EQ(issue(Arch::gfx1201, "s_wait_loadcnt 0x0"), 1U);
}

TEST(Clocks, InTheClockRegisters) {
  ProfiledCode code(Arch::gfx942, R"(
    s_memtime s[4:5]
    v_exp_f32 v1, v2
    v_add_f32 v1, v1, v1
    s_memtime s[6:7]
    s_nop 7
    s_memtime s[8:9]
    s_endpgm)");
  code.run();
  EXPECT_EQ(code.wave().pair(6) - code.wave().pair(4), 4U + 16 + 4);
  EXPECT_EQ(code.wave().pair(8) - code.wave().pair(6), 4U + 32);
}

// One workgroup takes its wave's time; 800 on the 80 SIMDs of gfx1151 take that of ten waves.
TEST(Clocks, OfALaunchOnTheWholeDevice) {
  const Module module(Arch::gfx1151, R"(extern "C" __global__ void adds() {
    asm volatile(".rept 1000\n v_add_f32 v1, v1, v1\n .endr" ::: "v1"); })");
  const std::uint64_t one = module.launch("adds", {1, 1, 1}, {32, 1, 1}, 0).cycles;
  EXPECT_GE(one, 1000U);
  EXPECT_LT(one, 1020U);
  EXPECT_EQ(module.launch("adds", {80, 1, 1}, {32, 1, 1}, 0).cycles, one);
  EXPECT_EQ(module.launch("adds", {800, 1, 1}, {32, 1, 1}, 0).cycles, 10000U);
}

}  // namespace
}  // namespace rapt::sim::test
