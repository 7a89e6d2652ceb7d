// Conversions of fp8, bf8, fp6, bf6 and fp4: every value widened, floats around every value narrowed, stochastic
// rounding, scales, and where results go.
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rapt::sim::test {
namespace {

constexpr Arch with_fp8[] = {Arch::gfx942, Arch::gfx950, Arch::gfx1201};

std::uint32_t bits_of(double v) { return std::bit_cast<std::uint32_t>(static_cast<float>(v)); }

void expect_same(double expected, std::uint32_t bits, const std::string& what) {
  const float got = std::bit_cast<float>(bits);
  if (std::isnan(expected)) EXPECT_TRUE(std::isnan(got)) << what;
  else EXPECT_EQ(bits, bits_of(expected)) << what << " " << got;
}

TEST(SmallFloat, every_8_bit_value_widened) {
  for (const Arch arch : with_fp8)
    for (const char* type : {"fp8", "bf8"})
      for (unsigned start = 0; start < 256; start += 32) {
        OneWave w(arch);
        for (unsigned l = 0; l < 32; ++l) w.v(1, l) = start + l;
        w.run(std::string("v_cvt_f32_") + type + "_e32 v0, v1");
        for (unsigned l = 0; l < 32; ++l)
          expect_same(value_of(type, arch, start + l), w.v(0, l), type + std::to_string(start + l));
      }
}

TEST(SmallFloat, bytes_and_words_selected) {
  const std::uint32_t four = 0x40'44'48'4c;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    OneWave w(arch);
    w.fill(1, four);
    for (unsigned byte = 0; byte < 4; ++byte) {
      w.run("v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_" + std::to_string(byte));
      expect_same(value_of("fp8", arch, four >> 8 * byte & 0xff), w.v(0), "byte");
    }
    w.run("v_cvt_pk_f32_bf8_sdwa v[2:3], v1 src0_sel:WORD_1\nv_cvt_pk_f32_bf8_e32 v[4:5], v1");
    for (unsigned n = 0; n < 4; ++n)
      expect_same(value_of("bf8", arch, four >> 8 * n & 0xff), w.v(n < 2 ? 4 + n : n), "word");
  }
  OneWave w(Arch::gfx1201);
  w.fill(1, four);
  for (unsigned select = 0; select < 4; ++select) {  // the two bits are reversed
    w.run("v_cvt_f32_fp8_e64 v0, v1 byte_sel:" + std::to_string(select));
    expect_same(value_of("fp8", Arch::gfx1201, four >> 8 * select & 0xff), w.v(0), "byte_sel");
  }
}

// Every finite value, the midpoint to the next one, and the floats next to both; also far beyond the range.
std::vector<float> around(const FormatModel& f) {
  std::vector<float> all{0x1p-40F, 0x1p40F, 1e30F, HUGE_VALF};
  const std::uint32_t count = 1U << (f.bits - 1);
  for (std::uint32_t m = 0; m < count; ++m) {
    const double v = value_of(f, m);
    if (!std::isfinite(v)) continue;
    double next = m + 1 < count ? value_of(f, m + 1) : 2 * v;
    if (!std::isfinite(next)) next = v + (v - value_of(f, m - 1));
    for (const double point : {v, (v + next) / 2}) {
      const auto x = static_cast<float>(point);
      all.insert(all.end(), {x, std::nextafter(x, HUGE_VALF), std::nextafter(x, -HUGE_VALF)});
    }
  }
  const std::size_t positive = all.size();
  for (std::size_t k = 0; k < positive; ++k) all.push_back(-all[k]);
  while (all.size() % 64 != 0) all.push_back(0);
  return all;
}

TEST(SmallFloat, narrowed_to_the_nearest) {
  for (const Arch arch : with_fp8)
    for (const std::string type : {"fp8", "bf8"})
      for (const bool saturate : {false, true}) {
        const FormatModel f = format_model(type, arch);
        const std::vector<float> all = around(f);
        OneWave w(arch);
        const unsigned lanes = w.wave().lanes;
        if (saturate) w.wave().mode |= mode::fp16_ovfl;
        for (std::size_t start = 0; start < all.size(); start += lanes) {
          for (unsigned l = 0; l < lanes; ++l) {
            w.set_f(1, l, all[start + l]);
            w.set_f(2, l, -all[start + l]);
          }
          w.run("v_cvt_pk_" + type + "_f32 v0, v1, v2");
          for (unsigned l = 0; l < lanes; ++l) {
            const double v = static_cast<double>(all[start + l]);
            EXPECT_EQ(w.v(0, l) & 0xff, nearest_bits(f, v, saturate)) << name(arch) << " " << type << " " << v;
            EXPECT_EQ(w.v(0, l) >> 8 & 0xff, nearest_bits(f, -v, saturate)) << name(arch) << " " << type << " " << -v;
          }
        }
      }
}

TEST(SmallFloat, nan_stays_nan) {
  for (const Arch arch : with_fp8)
    for (const std::string type : {"fp8", "bf8"})
      for (const bool saturate : {false, true}) {
        OneWave w(arch);
        if (saturate) w.wave().mode |= mode::fp16_ovfl;
        w.fill(1, 0x7fc00000);
        w.fill(2, 0xff800001);
        w.run("v_cvt_pk_" + type + "_f32 v0, v1, v2");
        EXPECT_TRUE(std::isnan(value_of(type, arch, w.v(0) & 0xff)));
        EXPECT_TRUE(std::isnan(value_of(type, arch, w.v(0) >> 8 & 0xff)));
      }
}

TEST(SmallFloat, results_go_where_op_sel_says) {
  for (const Arch arch : with_fp8) {
    OneWave w(arch);
    const std::uint32_t one = nearest_bits(format_model("fp8", arch), 1),
                        two = nearest_bits(format_model("fp8", arch), 2);
    w.fill(0, 0xaabbccdd);
    w.fill(1, bits_of(1));
    w.fill(2, bits_of(2));
    w.run("v_cvt_pk_fp8_f32 v0, v1, v2 op_sel:[0,0,1]");
    EXPECT_EQ(w.v(0), 0xccddU | one << 16 | two << 24);
    w.fill(0, 0xaabbccdd);
    w.fill(3, 0);
    w.run(arch == Arch::gfx1201 ? "v_cvt_sr_fp8_f32 v0, v1, v3 byte_sel:2"
                                : "v_cvt_sr_fp8_f32 v0, v1, v3 op_sel:[0,0,0,1]");
    EXPECT_EQ(w.v(0), 0xaa00ccddU | one << 16);
    w.run("v_cvt_pk_fp8_f32 v0, -v1, |v2|");
    EXPECT_EQ(w.v(0) & 0xffff, (one | 0x80) | two << 8);
  }
}

// The random number's highest bits decide, and exact values never change.
TEST(SmallFloat, stochastic_rounding) {
  struct Form {
    Arch arch;
    const char* type;
    unsigned cut;
  };
  for (const Form form : {Form{Arch::gfx942, "fp8", 20}, Form{Arch::gfx942, "bf8", 21}, Form{Arch::gfx950, "fp8", 20},
                          Form{Arch::gfx950, "bf8", 21}, Form{Arch::gfx1201, "fp8", 20}, Form{Arch::gfx1201, "bf8", 21},
                          Form{Arch::gfx950, "f16", 13}, Form{Arch::gfx950, "bf16", 16}}) {
    const FormatModel f = format_model(form.type, form.arch);
    OneWave w(form.arch);
    const unsigned lanes = w.wave().lanes, bits = f.bits;
    const std::uint32_t mask = (1U << bits) - 1;
    const std::uint32_t lower = nearest_bits(f, 1.5), upper = lower + 1;
    const double step = value_of(f, upper) - value_of(f, lower);
    for (const double part : {0.0, 0.25, 0.5, 0.75}) {
      for (unsigned l = 0; l < lanes; ++l) {
        w.set_f(1, l, static_cast<float>((l % 2 == 0 ? 1 : -1) * (1.5 + part * step)));
        w.v(2, l) = l << 27 | (l % 3 == 0 ? 0x07ffffff : 0);
      }
      w.run(std::string("v_cvt_sr_") + form.type + "_f32 v0, v1, v2");
      for (unsigned l = 0; l < lanes; ++l) {
        const double random = std::ldexp(w.v(2, l) >> (32 - form.cut), -static_cast<int>(form.cut));
        const std::uint32_t expected = (part + random >= 1 ? upper : lower) | (l % 2 == 0 ? 0 : 1U << (bits - 1));
        EXPECT_EQ(w.v(0, l) & mask, expected) << form.type << " " << part << " " << random;
      }
    }
    // A carry goes into the exponent; the smallest denormal's steps.
    w.set_f(1, 0, 1.9999999F);
    w.fill(2, 0xffffffff);
    w.run(std::string("v_cvt_sr_") + form.type + "_f32 v0, v1, v2");
    EXPECT_EQ(w.v(0) & mask, nearest_bits(f, 2));
    w.set_f(1, 0, static_cast<float>(value_of(f, 1) * 2.5));
    w.run(std::string("v_cvt_sr_") + form.type + "_f32 v0, v1, v2");
    EXPECT_EQ(w.v(0) & mask, 3U);
    w.fill(2, 0x10000000);
    w.run(std::string("v_cvt_sr_") + form.type + "_f32 v0, v1, v2");
    EXPECT_EQ(w.v(0) & mask, 2U);
  }
}

// gfx950's conversions with a scale: its exponent divides values to be narrowed and multiplies widened ones.
constexpr const char* small_types[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
constexpr float scales[] = {1.0F, 8.0F, 0.03125F, 1.9F};  // the mantissa is ignored
double scale_of(float v) { return std::ldexp(1.0, std::ilogb(v)); }

std::uint32_t element(OneWave& w, unsigned base, unsigned bits, unsigned n, unsigned lane) {
  std::uint32_t v = 0;
  for (unsigned b = 0; b < bits; ++b) v |= (w.v(base + (n * bits + b) / 32, lane) >> (n * bits + b) % 32 & 1) << b;
  return v;
}
void set_element(OneWave& w, unsigned base, unsigned bits, unsigned n, unsigned lane, std::uint32_t value) {
  for (unsigned b = 0; b < bits; ++b) {
    std::uint32_t& word = w.v(base + (n * bits + b) / 32, lane);
    const std::uint32_t mask = 1U << (n * bits + b) % 32;
    word = (value >> b & 1) != 0 ? word | mask : word & ~mask;
  }
}
std::string registers(unsigned base, unsigned bits) {
  if (bits <= 32) return "v" + std::to_string(base);
  return "v[" + std::to_string(base) + ":" + std::to_string(base + bits / 32 - 1) + "]";
}

TEST(SmallFloat, every_value_widened_with_a_scale) {
  for (const std::string type : small_types)
    for (const std::string wide : {"f32", "f16", "bf16"}) {
      OneWave w(Arch::gfx950);
      for (const float scale : scales) {
        const FormatModel f = format_model(type, Arch::gfx950);
        const unsigned n = f.bits == 6 ? 32 : 2, wide_bits = wide == "f32" ? 32 : 16;
        w.fill(40, bits_of(static_cast<double>(scale)));
        for (unsigned l = 0; l < 64; ++l)
          for (unsigned e = 0; e < n; ++e)
            set_element(w, 50, f.bits, e, l, (l * n + e + (f.bits == 8 ? 128 * (l % 2) : 0)) % (1U << f.bits));
        w.run("v_cvt_scalef32_pk" + std::string(n == 32 ? "32" : "") + "_" + wide + "_" + type + " " +
              registers(0, n * wide_bits) + ", " + registers(50, n * f.bits) + ", v40");
        for (unsigned l = 0; l < 64; ++l)
          for (unsigned e = 0; e < n; ++e) {
            const double v = value_of(f, element(w, 50, f.bits, e, l)) * scale_of(scale);
            const std::uint32_t got = element(w, 0, wide_bits, e, l);
            if (std::isnan(v)) EXPECT_TRUE(std::isnan(value_of(wide, Arch::gfx950, got)));
            else
              EXPECT_EQ(got, wide == "f32" ? bits_of(v) : nearest_bits(format_model(wide, Arch::gfx950), v))
                  << type << " " << wide << " " << v;
          }
      }
    }
}

TEST(SmallFloat, narrowed_with_a_scale) {
  for (const std::string type : small_types)
    for (const float scale : scales) {
      const FormatModel f = format_model(type, Arch::gfx950);
      const std::vector<float> all = around(f);
      const bool six = f.bits == 6;
      OneWave w(Arch::gfx950);
      w.fill(80, bits_of(static_cast<double>(scale)));
      const unsigned n = six ? 16 : 1;  // values per source
      for (std::size_t start = 0; start < all.size(); start += 64) {
        const auto value = [&](unsigned l, unsigned e) {
          return static_cast<double>(all[start + (l + 5 * e) % 64]) * scale_of(scale);
        };
        for (unsigned l = 0; l < 64; ++l)
          for (unsigned e = 0; e < n; ++e) {
            w.v(10 + e, l) = bits_of(value(l, e));
            w.v(30 + e, l) = bits_of(-value(l, e));
          }
        const std::string sources = registers(10, 32 * n) + ", " + registers(30, 32 * n) + ", v80";
        w.run("v_cvt_scalef32_" + std::string(six ? "2xpk16_" : "pk_") + type + "_f32 " + registers(0, six ? 192 : 32) +
              ", " + sources);
        for (unsigned l = 0; l < 64; ++l)
          for (unsigned e = 0; e < n; ++e) {  // the two sources take turns
            const double v = static_cast<double>(std::bit_cast<float>(w.v(10 + e, l))) / scale_of(scale);
            EXPECT_EQ(element(w, 0, f.bits, 2 * e, l), nearest_bits(f, v)) << type << " " << v;
            EXPECT_EQ(element(w, 0, f.bits, 2 * e + 1, l), nearest_bits(f, -v)) << type << " " << -v;
          }
      }
    }
}

TEST(SmallFloat, halves_narrowed_with_a_scale) {
  for (const std::string type : small_types)
    for (const std::string wide : {"f16", "bf16"}) {
      const FormatModel f = format_model(type, Arch::gfx950), from = format_model(wide, Arch::gfx950);
      const bool six = f.bits == 6;
      const unsigned n = six ? 32 : 2;
      OneWave w(Arch::gfx950);
      w.fill(80, bits_of(4));
      for (unsigned l = 0; l < 64; ++l)
        for (unsigned e = 0; e < n; ++e)
          set_element(w, 10, 16, e, l, nearest_bits(from, (l % 2 == 0 ? 1 : -1) * (0.37 * l + 0.11 * e)));
      w.run("v_cvt_scalef32_pk" + std::string(six ? "32" : "") + "_" + type + "_" + wide + " " +
            registers(0, six ? 192 : 32) + ", " + registers(10, 16 * n) + ", v80");
      for (unsigned l = 0; l < 64; ++l)
        for (unsigned e = 0; e < n; ++e) {
          const double v = value_of(from, element(w, 10, 16, e, l)) / 4;
          EXPECT_EQ(element(w, 0, f.bits, e, l), nearest_bits(f, v)) << type << " " << wide << " " << v;
        }
    }
}

// The next value of the pack takes the next number of V_PRNG_B32's sequence.
TEST(SmallFloat, stochastic_rounding_of_a_pack) {
  for (const std::string type : {"fp6", "bf6", "fp4"})
    for (const std::string wide : {"f32", "f16", "bf16"}) {
      const FormatModel f = format_model(type, Arch::gfx950);
      const unsigned n = f.bits == 6 ? 32 : 2, wide_bits = wide == "f32" ? 32 : 16;
      const std::uint32_t lower = nearest_bits(f, 1.5);
      const double middle = (value_of(f, lower) + value_of(f, lower + 1)) / 2;
      OneWave w(Arch::gfx950);
      w.fill(80, bits_of(1));
      for (unsigned l = 0; l < 64; ++l) {
        w.v(81, l) = l * 0x9e3779b9U;
        for (unsigned e = 0; e < n; ++e)
          set_element(w, 10, wide_bits, e, l,
                      wide == "f32" ? bits_of(middle) : nearest_bits(format_model(wide, Arch::gfx950), middle));
      }
      w.run("v_cvt_scalef32_sr_pk" + std::string(n == 32 ? "32" : "") + "_" + type + "_" + wide + " " +
            registers(0, n == 32 ? 192 : 32) + ", " + registers(10, wide_bits * n) + ", v81, v80");
      for (unsigned l = 0; l < 64; ++l) {
        std::uint32_t random = w.v(81, l);
        for (unsigned e = 0; e < n; ++e) {
          EXPECT_EQ(element(w, 0, f.bits, e, l), lower + (random >> 31)) << type << " " << wide << " " << e;
          random = random << 1 ^ ((random >> 31) != 0 ? 197 : 0);
        }
      }
    }
}

TEST(SmallFloat, scaled_results_go_where_op_sel_says) {
  OneWave w(Arch::gfx950);
  const FormatModel fp4 = format_model("fp4", Arch::gfx950), fp8 = format_model("fp8", Arch::gfx950);
  w.fill(0, 0xaabbccdd);
  w.fill(1, bits_of(1));
  w.fill(2, bits_of(2));
  w.fill(3, bits_of(1));
  w.run("v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3 op_sel:[0,0,1,1]");
  EXPECT_EQ(w.v(0), 0xbbccddU | nearest_bits(fp4, 1) << 24 | nearest_bits(fp4, 2) << 28);
  w.run("v_cvt_scalef32_pk_fp8_f32 v0, v1, v2, v3 op_sel:[0,0,0,1]");
  EXPECT_EQ(w.v(0), 0xccddU | nearest_bits(fp8, 1) << 16 | nearest_bits(fp8, 2) << 24);
  w.run("v_cvt_scalef32_f32_fp8 v4, v0, v3 op_sel:[1,1]\nv_cvt_scalef32_pk_f32_fp8 v[6:7], v0, v3 op_sel:[1,0]");
  EXPECT_EQ(w.f(4), 2.0F);
  EXPECT_EQ(w.f(6), 1.0F);
  EXPECT_EQ(w.f(7), 2.0F);
  w.fill(5, 0xabcdabcd);
  w.run("v_cvt_scalef32_f16_fp8 v5, v0, v3 op_sel:[0,1,1]");
  EXPECT_EQ(w.v(5), 0x3c00abcdU);
}

}  // namespace
}  // namespace rapt::sim::test
