// Conversions, rounding to integers and the parts of floating-point numbers.
#include "sim/tests/support/valu.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

template <class T>
std::int64_t saturated(double x) {
  if (x != x) return 0;
  const double whole = std::trunc(x);
  if (whole < static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (whole > static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<std::int64_t>(whole);
}

template <class T>
std::vector<std::vector<T>> singles(const std::vector<T>& values) {
  return tuples(values, 1);
}

TEST(ValuConvert, ToIntegersSaturates) {
  for (const Arch arch : archs_with("v_cvt_i32_f32")) {
    OneWave wave(arch);
    const auto check = [&](const std::string& name, auto type, auto adjust) {
      using T = decltype(type);
      const auto results = run_all<std::uint32_t>(wave, name + " v0, v10", singles(edges_f32()));
      for (std::size_t k = 0; k < results.size(); ++k)
        EXPECT_EQ(results[k], static_cast<std::uint32_t>(saturated<T>(adjust(double{as_float(edges_f32()[k])}))))
            << name << std::hex << " " << edges_f32()[k];
    };
    const bool rdna = is_rdna(arch);
    check("v_cvt_i32_f32", std::int32_t{}, [](double x) { return x; });
    check("v_cvt_u32_f32", std::uint32_t{}, [](double x) { return x; });
    check(rdna ? "v_cvt_floor_i32_f32" : "v_cvt_flr_i32_f32", std::int32_t{}, [](double x) { return std::floor(x); });
    check(rdna ? "v_cvt_nearest_i32_f32" : "v_cvt_rpi_i32_f32", std::int32_t{},
          [](double x) { return std::floor(x + 0.5); });
    const auto from_double = run_all<std::uint32_t>(wave, "v_cvt_i32_f64 v0, v[10:11]", singles(edges_f64()));
    const auto unsigned_from_double = run_all<std::uint32_t>(wave, "v_cvt_u32_f64 v0, v[10:11]", singles(edges_f64()));
    for (std::size_t k = 0; k < edges_f64().size(); ++k) {
      const double x = as_double(edges_f64()[k]);
      EXPECT_EQ(from_double[k], static_cast<std::uint32_t>(saturated<std::int32_t>(x))) << x;
      EXPECT_EQ(unsigned_from_double[k], static_cast<std::uint32_t>(saturated<std::uint32_t>(x))) << x;
    }
  }
}

TEST(ValuConvert, ToShortIntegersSaturates) {
  for (const Arch arch : archs_with("v_cvt_i16_f16")) {
    OneWave wave(arch);
    const std::uint32_t upper = is_rdna(arch) ? 0xa5a50000 : 0;  // which gfx9 clears
    const auto i16 = run_all<std::uint32_t>(wave, "v_cvt_i16_f16 v0, v10", singles(edges_f16()));
    const auto u16 = run_all<std::uint32_t>(wave, "v_cvt_u16_f16 v0, v10", singles(edges_f16()));
    for (std::size_t k = 0; k < edges_f16().size(); ++k) {
      const double x = half_value(edges_f16()[k]);
      EXPECT_EQ(i16[k], upper | static_cast<std::uint16_t>(saturated<std::int16_t>(x))) << x;
      EXPECT_EQ(u16[k], upper | static_cast<std::uint16_t>(saturated<std::uint16_t>(x))) << x;
    }
  }
}

TEST(ValuConvert, BetweenFloats) {
  for (const Arch arch : archs_with("v_cvt_f16_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    std::vector<std::uint32_t> all(65536);
    for (std::uint32_t h = 0; h < all.size(); ++h) all[h] = h;
    const auto wide = run_all<std::uint32_t>(wave, "v_cvt_f32_f16 v0, v10", singles(all));
    for (const std::uint32_t h : all) {
      const double value = half_value(h);
      if (value != value) ASSERT_EQ(wide[h], (h & 0x8000) << 16 | 0x7fc00000 | (h & 0x3ff) << 13);
      else ASSERT_EQ(wide[h], bits_of(static_cast<float>(value)));
    }
    // Around every f16 and every midpoint of two.
    std::vector<std::uint32_t> around;
    for (std::uint32_t h = 0; h < 0x7c00; h += 7) {
      const std::uint32_t x = bits_of(static_cast<float>(half_value(h)));
      const std::uint32_t middle =
          bits_of(static_cast<float>((half_value(h) + (h == 0x7bff ? 65536.0 : half_value(h + 1))) / 2));
      for (const std::uint32_t v : {x, x + 1, middle - 1, middle, middle + 1, middle | 0x80000000}) around.push_back(v);
    }
    const auto narrow = run_all<std::uint32_t>(wave, "v_cvt_f16_f32 v0, v10", singles(around));
    for (std::size_t k = 0; k < around.size(); ++k)
      ASSERT_EQ(narrow[k] & 0xffff, nearest_half(as_float(around[k]))) << std::hex << around[k];
    for (const auto& [in, out] : {std::pair{0x7f800001U, 0x7e00U}, {0xffc12345U, 0xfe09U}, {0xff800000U, 0xfc00U}}) {
      wave.fill(10, in);
      wave.run("v_cvt_f16_f32 v0, v10");
      EXPECT_EQ(wave.v(0) & 0xffff, out);
    }
    const auto doubles = run_all<std::uint32_t>(wave, "v_cvt_f32_f64 v0, v[10:11]", singles(edges_f64()));
    for (std::size_t k = 0; k < doubles.size(); ++k) {
      const double x = as_double(edges_f64()[k]);
      if (x == x) EXPECT_EQ(doubles[k], bits_of(static_cast<float>(x))) << x;
      else
        EXPECT_EQ(doubles[k], static_cast<std::uint32_t>(edges_f64()[k] >> 32 & 0x80000000) | 0x7fc00000 |
                                  static_cast<std::uint32_t>(edges_f64()[k] >> 29 & 0x7fffff));
    }
  }
}

// Trap: round towards zero; beyond f16's range 65504, not infinity.
TEST(ValuConvert, PackedTowardsZero) {
  for (const Arch arch : archs_with("v_cvt_f16_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    const std::string pack = is_rdna(arch) ? "v_cvt_pk_rtz_f16_f32 v0, v10, " : "v_cvt_pkrtz_f16_f32 v0, v10, ";
    for (const float x : {1.0009F, -1.0009F, 65519.0F, 1e30F, -1e30F, 0x1p-25F, -3e-8F, 6e-8F, 2047.9F}) {
      wave.fill(10, bits_of(x));
      wave.run(pack + "-v10");
      EXPECT_EQ(wave.v(0), nearest_half(x, 3) | nearest_half(-x, 3) << 16) << x;
    }
    wave.fill(10, 0x7f800000);
    wave.fill(20, 0x7f800001);
    wave.run(pack + "v20");
    EXPECT_EQ(wave.v(0), 0x7e007c00U);
  }
}

TEST(ValuConvert, Normalised) {
  for (const Arch arch : archs_with("v_cvt_f16_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    const std::string norm = is_rdna(arch) ? "v_cvt_pk_norm" : "v_cvt_pknorm";
    for (const auto& [x, snorm, unorm] : {std::tuple{1.0F, 0x7fff, 0xffff},
                                          {-1.0F, 0x8001, 0},
                                          {0.0F, 0, 0},
                                          {2.0F, 0x7fff, 0xffff},
                                          {-7.0F, 0x8001, 0},
                                          {0.5F, 0x4000, 0x8000},
                                          {NAN, 0, 0},
                                          {1.0F / 65535, 0, 1}}) {
      wave.fill(10, bits_of(x));
      wave.run(norm + "_i16_f32 v0, v10, 0");
      EXPECT_EQ(wave.v(0), static_cast<std::uint32_t>(snorm)) << x;
      wave.run(norm + "_u16_f32 v0, 0, v10");
      EXPECT_EQ(wave.v(0), static_cast<std::uint32_t>(unorm) << 16) << x;
    }
  }
}

TEST(ValuConvert, PackedIntegers) {
  for (const Arch arch : archs_with("v_cvt_pk_u16_u32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    wave.fill(10, 0x00012345);
    wave.fill(20, 0xffff0000);
    wave.run("v_cvt_pk_u16_u32 v0, v10, v20");
    EXPECT_EQ(wave.v(0), 0xffffffffU);
    wave.run("v_cvt_pk_i16_i32 v0, v10, v20");
    EXPECT_EQ(wave.v(0), 0x80007fffU);
    if (is_rdna(arch)) {
      wave.fill(10, bits_of(-3.9F));
      wave.fill(20, bits_of(70000.0F));
      wave.run("v_cvt_pk_i16_f32 v0, v10, v20");
      EXPECT_EQ(wave.v(0), 0x7ffffffdU);
      wave.run("v_cvt_pk_u16_f32 v0, v10, v20");
      EXPECT_EQ(wave.v(0), 0xffff0000U);
    }
    wave.fill(30, 0x11223344);
    wave.fill(20, 2);
    wave.fill(10, bits_of(300.0F));
    wave.run("v_cvt_pk_u8_f32 v0, v10, v20, v30");
    EXPECT_EQ(wave.v(0), 0x11ff3344U);
  }
}

TEST(ValuConvert, Integers) {
  for (const Arch arch : archs_with("v_cvt_off_f32_i4")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    const auto from_signed = run_all<std::uint32_t>(wave, "v_cvt_f32_i32 v0, v10", singles(edges_u32()));
    const auto from_unsigned = run_all<std::uint32_t>(wave, "v_cvt_f32_u32 v0, v10", singles(edges_u32()));
    const auto third_byte = run_all<std::uint32_t>(wave, "v_cvt_f32_ubyte2 v0, v10", singles(edges_u32()));
    const auto offset = run_all<std::uint32_t>(wave, "v_cvt_off_f32_i4 v0, v10", singles(edges_u32()));
    for (std::size_t k = 0; k < edges_u32().size(); ++k) {
      const std::uint32_t x = edges_u32()[k];
      EXPECT_EQ(as_float(from_signed[k]), static_cast<float>(static_cast<double>(static_cast<std::int32_t>(x)))) << x;
      EXPECT_EQ(as_float(from_unsigned[k]), static_cast<float>(static_cast<double>(x))) << x;
      EXPECT_EQ(as_float(third_byte[k]), static_cast<float>(x / 65536 % 256)) << x;
      const int nibble = static_cast<int>(x % 16);
      EXPECT_EQ(as_float(offset[k]), static_cast<float>(nibble < 8 ? nibble : nibble - 16) / 16) << x;
    }
  }
}

// Trap: -0 stays -0; halves round to the even integer; also values just below halves.
TEST(ValuConvert, RoundingToIntegers) {
  for (const Arch arch : archs_with("v_rndne_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    for (const std::uint32_t bits : edges_f32()) {
      const float x = as_float(bits);
      wave.fill(10, bits);
      const auto check = [&](const std::string& name, float value) {
        wave.run(name + " v0, v10");
        EXPECT_EQ(wave.v(0), x != x ? bits | 0x00400000 : bits_of(value)) << name << " " << x;
      };
      const float half_even =
          std::fabs(x) < 0x1p23F ? std::copysign(static_cast<float>(std::llrint(static_cast<double>(x))), x) : x;
      check("v_rndne_f32", half_even);
      check("v_trunc_f32", std::copysign(std::floor(std::fabs(x)), x));
      check("v_floor_f32", std::floor(x));
      check("v_ceil_f32", -std::floor(-x));
    }
    for (const auto& [in, out] :
         {std::pair{0.49999997F, 0.0F}, {2.5F, 2.0F}, {3.5F, 4.0F}, {-0.5F, -0.0F}, {8388609.0F, 8388609.0F}}) {
      wave.fill(10, bits_of(in));
      wave.run("v_rndne_f32 v0, v10");
      EXPECT_EQ(wave.v(0), bits_of(out)) << in;
    }
    wave.fill(10, bits_of(-0x1p-30F));
    wave.run("v_fract_f32 v0, v10");
    EXPECT_EQ(wave.v(0), 0x3f7fffffU);
    wave.run("v_cvt_f16_f32 v11, v10\nv_fract_f16 v0, v11");
    EXPECT_EQ(wave.v(0) & 0xffff, 0U);  // -0 becomes +0
    wave.fill(10, 0x8001);
    wave.run("v_fract_f16 v0, v10");
    EXPECT_EQ(wave.v(0) & 0xffff, 0x3bffU);
    wave.fill(10, 0x7f800000);
    wave.run("v_fract_f32 v0, v10");
    EXPECT_EQ(wave.v(0), 0xffc00000U);
  }
}

TEST(ValuConvert, MantissasAndExponents) {
  for (const Arch arch : archs_with("v_frexp_mant_f32")) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    for (const std::uint32_t bits : edges_f32()) {
      const float x = as_float(bits);
      int e = 0;
      const float m = std::frexp(x, &e);
      wave.fill(10, bits);
      wave.run("v_frexp_mant_f32 v0, v10\nv_frexp_exp_i32_f32 v1, v10");
      EXPECT_EQ(wave.v(0), x != x ? bits | 0x00400000 : bits_of(m)) << x;
      EXPECT_EQ(static_cast<int>(wave.v(1)), std::isfinite(x) ? e : 0) << x;
      for (const int shift : {0, 1, -1, 24, -24, 150, -150, 1000, -1000, INT32_MIN}) {
        wave.fill(20, static_cast<std::uint32_t>(shift));
        wave.run("v_ldexp_f32 v0, v10, v20");
        EXPECT_EQ(wave.v(0),
                  x != x ? bits | 0x00400000
                         : bits_of(static_cast<float>(std::ldexp(static_cast<long double>(x), std::max(shift, -9000)))))
            << x << " " << shift;
      }
    }
    for (const std::uint64_t bits : edges_f64()) {
      const double x = as_double(bits);
      int e = 0;
      const double m = std::frexp(x, &e);
      wave.set_v64(10, 0, bits);
      wave.fill(20, static_cast<std::uint32_t>(-1000));
      wave.run(
          "v_frexp_mant_f64 v[0:1], v[10:11]\nv_frexp_exp_i32_f64 v2, v[10:11]\nv_ldexp_f64 v[4:5], v[10:11], v20");
      EXPECT_EQ(wave.v64(0), x != x ? bits | 0x0008000000000000 : bits_of(m)) << x;
      EXPECT_EQ(static_cast<int>(wave.v(2)), std::isfinite(x) ? e : 0) << x;
      EXPECT_EQ(wave.v64(4), x != x ? bits | 0x0008000000000000
                                    : bits_of(static_cast<double>(std::ldexp(static_cast<long double>(x), -1000))));
    }
    for (const std::uint16_t bits : edges_f16()) {
      const double x = half_value(bits);
      int e = 0;
      const double m = std::frexp(x, &e);
      wave.fill(10, bits);
      wave.run("v_frexp_mant_f16 v0, v10\nv_frexp_exp_i16_f16 v1, v10\nv_mov_b32 v20, -5\nv_ldexp_f16 v2, v10, v20");
      EXPECT_EQ(wave.v(0) & 0xffff, x != x ? bits | 0x0200U : nearest_half(m)) << x;
      EXPECT_EQ(wave.v(1) & 0xffff, std::isfinite(x) ? static_cast<std::uint16_t>(e) : 0) << x;
      EXPECT_EQ(wave.v(2) & 0xffff, x != x ? bits | 0x0200U : nearest_half(std::ldexp(static_cast<long double>(x), -5)))
          << x;
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
