// Scalar floating-point operations of gfx1151 and gfx1201 other than sums of f32: halves, extremes, fused operations,
// conversions (RDNA3.5 ISA 16.1, RDNA4 ISA 16.1).
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;

constexpr Arch archs[] = {Arch::gfx1151, Arch::gfx1201};

float single(u32 bits) { return std::bit_cast<float>(bits); }
u32 single_bits(double value) { return std::bit_cast<u32>(static_cast<float>(value)); }
u32 rounded_half(long double value) { return value != value ? 0x7e00 : nearest_half(value); }

const std::vector<u32> singles{0,          0x80000000, 0x3f800000, 0xbf800000, 0x40200000, 0xc0200000, 1,
                               0x807fffff, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x4f000000, 0xcf000001,
                               0x4b800001, 0x3eaaaaab, 0x477fe000, 0x477ff000, 0x33800000};
const std::vector<u32> halves{0,      0x8000, 0x3c00, 0xbc00, 0x4100, 0xc100, 1,      0x83ff,
                              0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3555, 0x6401, 0xb801};

// Runs `D, A, B` on every pair and compares D's bits with the reference's; all NaNs are equal. `half`: of the result;
// the upper halves of sources that are halves must be ignored.
void check(Arch arch, const std::string& line, const std::vector<u32>& values, bool half,
           const std::function<u32(u32 a, u32 b)>& reference) {
  SCOPED_TRACE(std::string(name(arch)) + " " + line);
  OneWave wave(arch);
  const auto is_nan = [half](u32 x) { return half ? (x & 0x7fff) > 0x7c00 : (x & 0x7fffffff) > 0x7f800000; };
  for (const u32 a : values)
    for (const u32 b : values) {
      const bool half_sources = &values == &halves;
      wave.s(4) = a | (half_sources ? 0xdead0000 : 0), wave.s(8) = b | (half_sources ? 0xbeef0000 : 0);
      wave.s(20) = 0x3f000000;
      wave.run(line);
      const u32 expected = reference(a, b), got = wave.s(20);
      if (is_nan(expected) && is_nan(got)) continue;
      ASSERT_EQ(got, expected) << std::hex << a << " " << b << " " << got << " " << expected;
    }
}

u32 extreme(u32 a, u32 b, bool half, bool largest, bool nan_wins) {
  const double x = half ? half_value(a) : single(a), y = half ? half_value(b) : single(b);
  const u32 nan = half ? 0x7e00 : 0x7fc00000, sign = half ? 0x8000 : 0x80000000;
  if (std::isnan(x) || std::isnan(y)) return nan_wins || (std::isnan(x) && std::isnan(y)) ? nan : std::isnan(x) ? b : a;
  if (x == 0 && y == 0) return largest ? a & b & sign : (a | b) & sign;
  return (x < y) != largest ? a : b;
}

TEST(ScalarFloat, HalvesAreRoundedOnce) {
  for (const Arch arch : archs) {
    check(arch, "s_add_f16 s20, s4, s8", halves, true,
          [](u32 a, u32 b) { return rounded_half(static_cast<long double>(half_value(a)) + half_value(b)); });
    check(arch, "s_sub_f16 s20, s4, s8", halves, true,
          [](u32 a, u32 b) { return rounded_half(static_cast<long double>(half_value(a)) - half_value(b)); });
    check(arch, "s_mul_f16 s20, s4, s8", halves, true,
          [](u32 a, u32 b) { return rounded_half(static_cast<long double>(half_value(a)) * half_value(b)); });
    for (const auto& [stem, f] : {std::pair<const char*, double (*)(double)>{"ceil", std::ceil},
                                  {"floor", std::floor},
                                  {"trunc", std::trunc},
                                  {"rndne", std::nearbyint}})
      check(arch, std::string("s_") + stem + "_f16 s20, s4", halves, true,
            [f = f](u32 a, u32) { return rounded_half(std::copysign(f(half_value(a)), half_value(a))); });
  }
}

TEST(ScalarFloat, Extremes) {
  for (const Arch arch : archs)
    for (const bool half : {false, true}) {
      const std::string type = half ? "_f16" : "_f32", number = contains(gfx12, arch) ? "_num" : "";
      for (const bool largest : {false, true}) {
        check(arch, std::string(largest ? "s_max" : "s_min") + number + type + " s20, s4, s8", half ? halves : singles,
              half, [=](u32 a, u32 b) { return extreme(a, b, half, largest, false); });
        if (contains(gfx12, arch))
          check(arch, std::string(largest ? "s_maximum" : "s_minimum") + type + " s20, s4, s8", half ? halves : singles,
                half, [=](u32 a, u32 b) { return extreme(a, b, half, largest, true); });
      }
    }
}

TEST(ScalarFloat, Fused) {
  for (const Arch arch : archs) {
    check(arch, "s_fmac_f32 s20, s4, s8", singles, false,
          [](u32 a, u32 b) { return std::bit_cast<u32>(std::fma(single(a), single(b), 0.5F)); });
    check(arch, "s_fmaak_f32 s20, s4, s8, 0x40490fdb", singles, false,
          [](u32 a, u32 b) { return std::bit_cast<u32>(std::fma(single(a), single(b), single(0x40490fdb))); });
    check(arch, "s_fmamk_f32 s20, s4, 0x40490fdb, s8", singles, false,
          [](u32 a, u32 b) { return std::bit_cast<u32>(std::fma(single(a), single(0x40490fdb), single(b))); });
    OneWave wave(arch);
    for (const u32 a : halves)
      for (const u32 b : halves) {
        if (std::isnan(half_value(a)) || std::isnan(half_value(b))) continue;
        wave.s(4) = a, wave.s(8) = b, wave.s(20) = 0x3800;
        wave.run("s_fmac_f16 s20, s4, s8");
        const long double exact = static_cast<long double>(half_value(a)) * half_value(b) + 0.5L;
        if (exact != exact) continue;
        ASSERT_EQ(wave.s(20), rounded_half(exact)) << std::hex << a << " " << b;
      }
  }
}

TEST(ScalarFloat, Conversions) {
  for (const Arch arch : archs) {
    check(arch, "s_cvt_f32_f16 s20, s4", halves, false, [](u32 a, u32) { return single_bits(half_value(a)); });
    check(arch, "s_cvt_f16_f32 s20, s4", singles, true, [](u32 a, u32) { return rounded_half(single(a)); });
    check(arch, "s_cvt_i32_f32 s20, s4", singles, true, [](u32 a, u32) {
      const double x = std::trunc(static_cast<double>(single(a)));
      return std::isnan(x) ? 0
                           : static_cast<u32>(static_cast<std::int32_t>(std::clamp(x, -2147483648.0, 2147483647.0)));
    });
    check(arch, "s_cvt_u32_f32 s20, s4", singles, true, [](u32 a, u32) {
      const double x = std::trunc(static_cast<double>(single(a)));
      return std::isnan(x) ? 0 : static_cast<u32>(std::clamp(x, 0.0, 4294967295.0));
    });
    OneWave wave(arch);
    for (const u32 h : halves) {
      if (std::isnan(half_value(h))) continue;
      wave.s(4) = h << 16 | 0x1234;
      wave.run("s_cvt_hi_f32_f16 s20, s4");
      ASSERT_EQ(wave.s(20), single_bits(half_value(h)));
    }
    wave.s(4) = 0x3f801fff, wave.s(8) = 0xc0201fff;  // just below the next half
    wave.run("s_cvt_pk_rtz_f16_f32 s20, s4, s8");
    EXPECT_EQ(wave.s(20), 0xc1003c00U);
  }
}

TEST(ScalarFloat, ComparisonsOfHalves) {
  struct Relation {
    const char* name;
    bool less, equal, greater, unordered;
  };
  for (const Arch arch : archs) {
    OneWave wave(arch);
    for (const Relation& r : {Relation{"lt", true, false, false, false}, Relation{"eq", false, true, false, false},
                              Relation{"le", true, true, false, false}, Relation{"gt", false, false, true, false},
                              Relation{"lg", true, false, true, false}, Relation{"ge", false, true, true, false},
                              Relation{"o", true, true, true, false}, Relation{"u", false, false, false, true},
                              Relation{"nge", true, false, false, true}, Relation{"nlg", false, true, false, true},
                              Relation{"ngt", true, true, false, true}, Relation{"nle", false, false, true, true},
                              Relation{"neq", true, false, true, true}, Relation{"nlt", false, true, true, true}})
      for (const u32 a : halves)
        for (const u32 b : halves) {
          const double x = half_value(a), y = half_value(b);
          wave.s(4) = a | 0x12340000, wave.s(8) = b;
          wave.run(std::string("s_cmp_") + r.name + "_f16 s4, s8");
          ASSERT_EQ(wave.wave().scc, x < y    ? r.less
                                     : x == y ? r.equal
                                     : x > y  ? r.greater
                                              : r.unordered)
              << r.name << " " << x << " " << y;
        }
  }
}

}  // namespace
}  // namespace rapt::sim::test
