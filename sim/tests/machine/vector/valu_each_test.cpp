// One line for each VALU operation that has no other test: sources, instruction, result.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

struct Line {
  std::string text;  // result in v0, sources v10, v20, v30
  std::vector<std::uint64_t> sources;
  std::uint64_t result;  // low dword; the whole for a v[0:1]
};

std::uint64_t f(float x) { return bits_of(x); }
std::uint64_t d(double x) { return bits_of(x); }
std::uint64_t h(double x) { return nearest_half(x); }
std::uint64_t u(std::int64_t x) { return static_cast<std::uint32_t>(x); }
constexpr std::uint64_t before = 0xa5a5a5a5a5a5a5a5;

// gfx9 clears the upper half at most of these, which the lines say; gfx11 and gfx12 keep it.
bool is_half(Type type) { return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16; }

// A mask of 32 lanes is one register.
std::string with_mask(std::string text, unsigned lanes) {
  for (std::size_t at = text.find("vcc"); lanes == 32 && at != std::string::npos; at = text.find("vcc", at + 3))
    if (text.compare(at, 4, "vcc_") != 0) text.insert(at + 3, "_lo");
  return text;
}

void check(Arch arch, std::vector<Line> lines) {
  std::erase_if(lines, [arch](const Line& line) { return !has(arch, line.text); });
  OneWave wave(arch);
  std::string text;
  for (const Line& line : lines) text += with_mask(line.text, wave.wave().lanes) + "\n";
  const auto instructions = decode_all(arch, wave.wave().lanes, assemble(arch, wave.wave().lanes, text));
  ASSERT_EQ(instructions.size(), lines.size());
  for (std::size_t k = 0; k < lines.size(); ++k) {
    wave.set_v64(0, 3, before);
    for (unsigned s = 0; s < lines[k].sources.size(); ++s) wave.set_v64(10 + 10 * s, 3, lines[k].sources[s]);
    wave.wave().set_pair(sreg::vcc, 0);
    wave.run(instructions[k]);
    const bool wide = lines[k].text.find("v[0:1]") != std::string::npos;
    std::uint64_t result = lines[k].result;
    if (is_rdna(arch) && is_half(instructions[k].opcode->dst) && lines[k].text.find(".h") == std::string::npos)
      result = (result & 0xffff) | 0xa5a50000;
    EXPECT_EQ(wide ? wave.v64(0, 3) : wave.v(0, 3), result) << name(arch) << " " << lines[k].text << std::hex;
  }
}

// On each of the architectures, the operations that it has.
void check(ArchSet archs, const std::vector<Line>& lines) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n)
    if (contains(archs, static_cast<Arch>(n))) check(static_cast<Arch>(n), lines);
}

TEST(ValuEach, Floats) {
  check(every_arch, {{"v_subrev_f32 v0, v10, v20", {f(3), f(5)}, f(2)},
                     {"v_sub_f16 v0, v10, v20", {h(3), h(5)}, h(-2)},
                     {"v_subrev_f16 v0, v10, v20", {h(3), h(5)}, h(2)},
                     {"v_madak_f32 v0, v10, v20, 0x40a00000", {f(3), f(4)}, f(17)},
                     {"v_madmk_f32 v0, v10, 0x40a00000, v20", {f(3), f(4)}, f(19)},
                     {"v_madak_f16 v0, v10, v20, 0x4500", {h(3), h(4)}, 0xa5a50000 | h(17)},
                     {"v_madmk_f16 v0, v10, 0x4500, v20", {h(3), h(4)}, 0xa5a50000 | h(19)},
                     {"v_mad_legacy_f32 v0, v10, v20, v30", {0, 0x7f800000, f(7)}, f(7)},
                     {"v_mad_legacy_f16 v0, v10, v20, v30", {h(3), h(4), h(5)}, h(17)},
                     {"v_fma_legacy_f16 v0, v10, v20, v30", {h(3), h(4), h(5)}, h(17)},
                     {"v_div_fixup_legacy_f16 v0, v10, v20, v30", {h(2), h(-3), h(6)}, h(-2)},
                     {"v_rcp_iflag_f32 v0, v10", {f(4)}, f(0.25)},
                     {"v_exp_legacy_f32 v0, v10", {f(3)}, f(8)},
                     {"v_log_legacy_f32 v0, v10", {f(8)}, f(3)},
                     {"v_cos_f16 v0, v10", {h(0.5)}, h(-1)},
                     {"v_floor_f16 v0, v10", {h(-1.5)}, h(-2)},
                     {"v_ceil_f16 v0, v10", {h(-0.5)}, 0x8000},
                     {"v_trunc_f16 v0, v10", {h(-1.5)}, h(-1)},
                     {"v_rndne_f16 v0, v10", {h(2.5)}, h(2)},
                     {"v_floor_f64 v[0:1], v[10:11]", {d(-1.5)}, d(-2)},
                     {"v_ceil_f64 v[0:1], v[10:11]", {d(-0.5)}, d(-0.0)},
                     {"v_trunc_f64 v[0:1], v[10:11]", {d(-1.5)}, d(-1)},
                     {"v_rndne_f64 v[0:1], v[10:11]", {d(3.5)}, d(4)},
                     {"v_fract_f64 v[0:1], v[10:11]", {d(-0x1p-80)}, 0x3fefffffffffffff},
                     {"v_min3_f32 v0, v10, v20, v30", {f(1), f(-2), f(3)}, f(-2)},
                     {"v_max3_f32 v0, v10, v20, v30", {f(1), f(-2), f(3)}, f(3)},
                     {"v_min3_f16 v0, v10, v20, v30", {h(1), h(-2), h(3)}, 0xa5a50000 | h(-2)},
                     {"v_max3_f16 v0, v10, v20, v30", {h(1), h(-2), h(3)}, 0xa5a50000 | h(3)},
                     {"v_med3_f16 v0, v10, v20, v30", {h(1), h(-2), h(3)}, 0xa5a50000 | h(1)},
                     {"v_cubeid_f32 v0, v10, v20, v30", {f(1), f(-2), f(1)}, f(3)},
                     {"v_cubesc_f32 v0, v10, v20, v30", {f(-3), f(2), f(1)}, f(1)},
                     {"v_cubetc_f32 v0, v10, v20, v30", {f(1), f(-2), f(1)}, f(-1)},
                     {"v_cubema_f32 v0, v10, v20, v30", {f(1), f(2), f(-4)}, f(-8)}});
}

TEST(ValuEach, Conversions) {
  check(every_arch, {{"v_cvt_f16_i16 v0, v10", {0xfffd}, h(-3)},
                     {"v_cvt_f16_u16 v0, v10", {0xfffd}, 0x7c00},
                     {"v_cvt_f32_ubyte0 v0, v10", {0x11223344}, f(0x44)},
                     {"v_cvt_f32_ubyte1 v0, v10", {0x11223344}, f(0x33)},
                     {"v_cvt_f32_ubyte3 v0, v10", {0x11223344}, f(0x11)},
                     {"v_cvt_f64_f32 v[0:1], v10", {1}, d(0x1p-149)},
                     {"v_cvt_f64_i32 v[0:1], v10", {u(-7)}, d(-7)},
                     {"v_cvt_f64_u32 v[0:1], v10", {u(-7)}, d(4294967289.0)},
                     {"v_cvt_norm_i16_f16 v0, v10", {h(-1)}, 0x8001},
                     {"v_cvt_norm_u16_f16 v0, v10", {h(0.5)}, 0x8000},
                     {"v_cvt_pknorm_i16_f16 v0, v10, v20", {h(1), h(-0.5)}, 0xc0007fff},
                     {"v_cvt_pknorm_u16_f16 v0, v10, v20", {h(1), h(-0.5)}, 0x0000ffff},
                     {"v_cvt_pk_f16_f32 v0, v10, v20", {f(70000), f(1.0004885F)}, 0x3c017c00},
                     {"v_cvt_pk_bf16_f32 v0, v10, v20", {0x3f808000, 0x3f818000}, 0x3f823f80},
                     {"v_cvt_f32_bf16 v0, v10", {0xffff4049}, 0x40490000},
                     {"v_cvt_pkaccum_u8_f32 v0, v10, v20", {f(7.9F), 1}, 0xa5a507a5},
                     {"v_sat_pk_u8_i16 v0, v10", {0x012cffff}, 0x0000ff00},
                     {"v_screen_partition_4se_b32 v0, v10", {0x12}, 6},
                     {"v_maximum3_f32 v0, v10, v20, v30", {f(1), 0x7fc00000, f(2)}, 0x7fc00000}});
}

TEST(ValuEach, Integers) {
  check(every_arch, {{"v_sub_u32 v0, v10, v20", {5, 7}, u(-2)},
                     {"v_subrev_u32 v0, v10, v20", {5, 7}, 2},
                     {"v_add_i32 v0, v10, v20", {0x7fffffff, 1}, 0x80000000},
                     {"v_sub_i32 v0, v10, v20 clamp", {0x80000000, 1}, 0x80000000},
                     {"v_subrev_u16 v0, v10, v20", {5, 7}, 2},
                     {"v_sub_i16 v0, v10, v20 clamp", {0x8000, 1}, 0xa5a58000},
                     {"v_mad_legacy_u16 v0, v10, v20, v30", {300, 300, 7}, (300 * 300 + 7) & 0xffff},
                     {"v_mad_legacy_i16 v0, v10, v20, v30", {3, 0xfffe, 1}, 0xfffb},
                     {"v_lshlrev_b16 v0, v10, v20", {17, 0x8001}, 2},
                     {"v_lshrrev_b16 v0, v10, v20", {1, 0xffff8001}, 0x4000},
                     {"v_min_u16 v0, v10, v20", {0x8000, 1}, 1},
                     {"v_max_u16 v0, v10, v20", {0x8000, 1}, 0x8000},
                     {"v_min_i16 v0, v10, v20", {0x8000, 1}, 0x8000},
                     {"v_min3_i16 v0, v10, v20, v30", {0x8000, 1, 2}, 0xa5a58000},
                     {"v_max3_i16 v0, v10, v20, v30", {0x8000, 1, 2}, 0xa5a50002},
                     {"v_med3_i16 v0, v10, v20, v30", {0x8000, 1, 2}, 0xa5a50001},
                     {"v_min3_u16 v0, v10, v20, v30", {0x8000, 1, 2}, 0xa5a50001},
                     {"v_max3_u16 v0, v10, v20, v30", {0x8000, 1, 2}, 0xa5a58000},
                     {"v_med3_u16 v0, v10, v20, v30", {0x8000, 1, 2}, 0xa5a50002},
                     {"v_min3_i32 v0, v10, v20, v30", {u(-5), 1, 2}, u(-5)},
                     {"v_max3_i32 v0, v10, v20, v30", {u(-5), 1, 2}, 2},
                     {"v_min3_u32 v0, v10, v20, v30", {u(-5), 1, 2}, 1},
                     {"v_max3_u32 v0, v10, v20, v30", {u(-5), 1, 2}, u(-5)},
                     {"v_med3_u32 v0, v10, v20, v30", {u(-5), 1, 2}, 2},
                     {"v_min_u32 v0, v10, v20", {u(-5), 1}, 1},
                     {"v_max_i32 v0, v10, v20", {u(-5), 1}, 1},
                     {"v_and_b32 v0, v10, v20", {12, 10}, 8},
                     {"v_or_b32 v0, v10, v20", {12, 10}, 14},
                     {"v_xor_b32 v0, v10, v20", {12, 10}, 6},
                     {"v_not_b32 v0, v10", {12}, u(-13)},
                     {"v_or3_b32 v0, v10, v20, v30", {1, 2, 4}, 7},
                     {"v_lshl_or_b32 v0, v10, v20, v30", {3, 33, 1}, 7},
                     {"v_subrev_co_u32 v0, vcc, v10, v20", {7, 5}, u(-2)},
                     {"v_subbrev_co_u32 v0, vcc, v10, v20, vcc", {5, 7}, 2},
                     {"v_cndmask_b32 v0, v10, v20, vcc", {5, 7}, 5},
                     {"v_fmac_f64 v[0:1], v[10:11], 0", {d(3)}, before},
                     {"v_mov_b64 v[0:1], v[10:11]", {0x123456789abcdef0}, 0x123456789abcdef0}});
}

TEST(ValuEach, Gfx11) {
  check(rdna, {{"v_fmaak_f32 v0, v10, v20, 0x40a00000", {f(3), f(4)}, f(17)},
               {"v_fmamk_f32 v0, v10, 0x40a00000, v20", {f(3), f(4)}, f(19)},
               {"v_fmaak_f16 v0.l, v10.l, v20.l, 0x4500", {h(3), h(4)}, 0xa5a50000 | h(17)},
               {"v_fmamk_f16 v0.l, v10.l, 0x4500, v20.l", {h(3), h(4)}, 0xa5a50000 | h(19)},
               {"v_fmac_dx9_zero_f32 v0, v10, v20", {0, 0x7f800000}, 0xa5a5a5a5},
               {"v_mullit_f32 v0, v10, v20, v30", {f(3), f(4), f(1)}, f(12)},
               {"v_mullit_f32 v0, v10, v20, v30", {f(3), f(4), f(0)}, 0xff7fffff},
               {"v_mullit_f32 v0, v10, v20, v30", {f(3), 0x7fc00000, f(1)}, 0xff7fffff},
               {"v_minmax_f32 v0, v10, v20, v30", {f(1), f(5), f(3)}, f(3)},
               {"v_maxmin_f32 v0, v10, v20, v30", {f(1), f(5), f(3)}, f(3)},
               {"v_minmax_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(3)},
               {"v_maxmin_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(3)},
               {"v_minmax_i32 v0, v10, v20, v30", {u(-5), 1, u(-3)}, u(-3)},
               {"v_maxmin_u32 v0, v10, v20, v30", {u(-5), 1, 3}, 3},
               {"v_cvt_pk_norm_i16_f32 v0, v10, v20", {f(1), f(-1)}, 0x80017fff},
               {"v_cvt_pk_norm_u16_f32 v0, v10, v20", {f(1), f(0)}, 0x0000ffff},
               {"v_cvt_pk_norm_i16_f16 v0, v10.l, v20.l", {h(1), h(-1)}, 0x80017fff},
               {"v_cvt_pk_norm_u16_f16 v0, v10.l, v20.l", {h(1), h(0)}, 0x0000ffff},
               {"v_cvt_i32_i16 v0, v10.l", {0x12348001}, 0xffff8001},
               {"v_cvt_u32_u16 v0, v10.h", {0x80011234}, 0x8001},
               {"v_clz_i32_u32 v0, v10", {0x0000ffff}, 16},
               {"v_ctz_i32_b32 v0, v10", {0xffff0000}, 16},
               {"v_cls_i32 v0, v10", {0xffff0000}, 16},
               {"v_xor3_b32 v0, v10, v20, v30", {1, 3, 4}, 6},
               {"v_and_b16 v0.l, v10.l, v20.l", {12, 10}, 0xa5a50008},
               {"v_or_b16 v0.l, v10.l, v20.l", {12, 10}, 0xa5a5000e},
               {"v_xor_b16 v0.h, v10.l, v20.l", {12, 10}, 0x0006a5a5},
               {"v_not_b16 v0.l, v10.l", {12}, 0xa5a5fff3},
               {"v_cndmask_b16 v0.l, v10.l, v20.l, vcc_lo", {12, 10}, 0xa5a5000c},
               {"v_sub_nc_u32 v0, v10, v20", {5, 7}, u(-2)},
               {"v_subrev_nc_u32 v0, v10, v20", {5, 7}, 2},
               {"v_sub_nc_u16 v0.l, v10.l, v20.l", {5, 7}, 0xa5a5fffe},
               {"v_add_nc_i16 v0.l, v10.l, v20.l clamp", {0x7fff, 1}, 0xa5a57fff},
               {"v_sub_nc_i16 v0.l, v10.l, v20.l clamp", {0x8000, 1}, 0xa5a58000},
               {"v_sub_nc_i32 v0, v10, v20", {5, 7}, u(-2)},
               {"v_subrev_co_u32 v0, vcc_lo, v10, v20", {5, 7}, 2},
               {"v_subrev_co_ci_u32 v0, vcc_lo, v10, v20, vcc_lo", {5, 7}, 2},
               {"v_dual_min_f32 v0, v10, v20 :: v_dual_max_f32 v1, v11, v21", {f(3), f(5)}, f(3)},
               {"v_dual_subrev_f32 v0, v10, v20 :: v_dual_mov_b32 v1, v11", {f(3), f(5)}, f(2)},
               {"v_dual_mul_dx9_zero_f32 v0, v10, v20 :: v_dual_mov_b32 v1, v11", {0, 0x7fc00000}, 0},
               {"v_dual_fmamk_f32 v0, v10, 0x40a00000, v20 :: v_dual_mov_b32 v1, v11", {f(3), f(4)}, f(19)},
               {"v_dual_mov_b32 v1, v11 :: v_dual_and_b32 v0, v10, v20", {12, 10}, 8},
               {"v_dual_mov_b32 v1, v11 :: v_dual_add_nc_u32 v0, v10, v20", {12, 10}, 22}});
}

TEST(ValuEach, Gfx12) {
  check(Arch::gfx1201,
        {{"v_max_num_f16 v0.l, v10.l, v20.l", {h(1), 0x7c01}, 0xa5a50000 | h(1)},
         {"v_min_num_f16 v0.l, v10.l, v20.l", {0x0000, 0x8000}, 0xa5a58000},
         {"v_max_num_f64 v[0:1], v[10:11], v[20:21]", {d(1), d(2)}, d(2)},
         {"v_min_num_f64 v[0:1], v[10:11], v[20:21]", {d(1), d(2)}, d(1)},
         {"v_maximum_f16 v0.l, v10.l, v20.l", {h(1), 0x7c01}, 0xa5a57e01},
         {"v_minimum_f16 v0.l, v10.l, v20.l", {h(1), h(2)}, 0xa5a50000 | h(1)},
         {"v_minimum_f32 v0, v10, v20", {f(1), 0x7fc00000}, 0x7fc00000},
         {"v_maximum_f64 v[0:1], v[10:11], v[20:21]", {d(1), d(2)}, d(2)},
         {"v_minimum_f64 v[0:1], v[10:11], v[20:21]", {d(-0.0), d(0)}, d(-0.0)},
         {"v_min3_num_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(1)},
         {"v_max3_num_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(5)},
         {"v_med3_num_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(3)},
         {"v_minmax_num_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(3)},
         {"v_maxmin_num_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(3)},
         {"v_maximum3_f16 v0.l, v10.l, v20.l, v30.l", {h(1), 0x7e00, h(3)}, 0xa5a57e00},
         {"v_minimum3_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(1)},
         {"v_minimummaximum_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(3)},
         {"v_maximumminimum_f16 v0.l, v10.l, v20.l, v30.l", {h(1), h(5), h(3)}, 0xa5a50000 | h(3)},
         {"v_mad_co_u64_u32 v[0:1], s4, v10, v20, v[30:31]", {3, 4, 5}, 17},
         {"v_mad_co_i64_i32 v[0:1], s4, v10, v20, v[30:31]", {3, u(-4), 5}, static_cast<std::uint64_t>(-7)},
         {"v_dual_max_num_f32 v0, v10, v20 :: v_dual_min_num_f32 v1, v11, v21", {f(3), f(5)}, f(5)}});
  OneWave wave(Arch::gfx1201);
  wave.s(4) = bits_of(16.0F);
  wave.s(5) = nearest_half(4.0);
  wave.run("v_s_log_f32 s6, s4\nv_s_sqrt_f32 s7, s4\nv_s_exp_f16 s8, s5\nv_s_rcp_f16 s9, s5\nv_s_rsq_f16 s10, s5");
  EXPECT_EQ(wave.s(6), bits_of(4.0F));
  EXPECT_EQ(wave.s(7), bits_of(4.0F));
  EXPECT_EQ(wave.s(8), nearest_half(16.0));
  EXPECT_EQ(wave.s(9), nearest_half(0.25));
  EXPECT_EQ(wave.s(10), nearest_half(0.5));
}

TEST(ValuEach, NothingAndExceptions) {
  for (const Arch arch : archs_with("v_nop")) {
    OneWave wave(arch);
    wave.wave().trapsts = 0xffffffff;
    wave.run("v_nop");
    EXPECT_EQ(wave.wave().trapsts, 0xffffffffU);
    if (!has(arch, "v_clrexcp")) continue;
    wave.run("v_clrexcp");
    EXPECT_EQ(wave.wave().trapsts, 0xfffffe00U);
  }
  for (const Arch arch : archs_with("v_pipeflush")) {
    OneWave rdna(arch);
    rdna.run("v_pipeflush");
    for (unsigned l = 0; l < 32; ++l) rdna.v(10, l) = l < 3 ? 0x7f800000U : 0;
    rdna.run("v_cmpx_class_f32 v10, 0x200");
    EXPECT_EQ(rdna.s(sreg::exec), 7U);
    rdna.run("v_cmpx_class_f16 v10.h, 0x200");  // 0x7f80 is a NaN there
    EXPECT_EQ(rdna.s(sreg::exec), 0U);
  }
}

}  // namespace
}  // namespace rapt::sim::test
