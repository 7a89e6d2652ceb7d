// gfx950's scaled conversions of single 8-bit floats, and pairs of fp8 widened: every value from every byte, stochastic
// rounding between every two neighbours, to every byte (CDNA4 ISA 12.10, V_CVT_SCALEF32_*).
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/one_wave.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;

u32 bits_of(double v) { return std::bit_cast<u32>(static_cast<float>(v)); }

std::vector<Instruction> instructions(Arch arch, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return decode_all(arch, default_lanes(arch), assemble(arch, default_lanes(arch), text));
}

TEST(SmallFloatScaled, OneValueWidened) {
  for (const std::string type : {"fp8", "bf8"}) {
    const FormatModel f = format_model(type, Arch::gfx950), half = format_model("f16", Arch::gfx950);
    std::vector<std::string> lines;
    for (unsigned byte = 0; byte < 4; ++byte) {
      const std::string select = std::to_string(byte & 1) + "," + std::to_string(byte >> 1);
      lines.push_back("v_cvt_scalef32_f32_" + type + " v4, v0, v3 op_sel:[" + select + "]");
      for (const char* place : {",0]", ",1]"})
        lines.push_back("v_cvt_scalef32_f16_" + type + " v5, v0, v3 op_sel:[" + select + place);
    }
    const auto all = instructions(Arch::gfx950, lines);
    OneWave w(Arch::gfx950);
    w.fill(3, bits_of(0.5));
    for (u32 first = 0; first < 256; first += 64)
      for (unsigned byte = 0; byte < 4; ++byte) {
        for (unsigned l = 0; l < 64; ++l) w.v(0, l) = (0x3a5b7c6dU & ~(0xffU << 8 * byte)) | (first + l) << 8 * byte;
        w.fill(5, 0xabcdabcd);
        w.run(all[3 * byte]);
        w.run(all[3 * byte + 1]);
        w.run(all[3 * byte + 2]);
        for (unsigned l = 0; l < 64; ++l) {
          const double value = value_of(f, first + l) / 2;
          SCOPED_TRACE(type + " " + std::to_string(first + l) + " of byte " + std::to_string(byte));
          if (std::isnan(value)) {
            ASSERT_TRUE(std::isnan(w.f(4, l)));
            for (const unsigned shift : {0U, 16U}) {
              ASSERT_TRUE(std::isnan(value_of(half, w.v(5, l) >> shift & 0xffff)));
            }
          } else {
            ASSERT_EQ(w.v(4, l), bits_of(value));
            ASSERT_EQ(w.v(5, l), nearest_bits(half, value) * 0x10001);
          }
        }
      }
  }
}

// A value between two neighbours becomes the upper one if its fraction of the way and the random number, as a fraction
// of 1, make at least 1. The neighbours themselves never change.
TEST(SmallFloatScaled, OneValueNarrowedStochastically) {
  for (const std::string type : {"fp8", "bf8"})
    for (const std::string wide : {"f32", "f16", "bf16"}) {
      const FormatModel f = format_model(type, Arch::gfx950);
      std::vector<std::string> lines;
      for (unsigned byte = 0; byte < 4; ++byte)
        lines.push_back("v_cvt_scalef32_sr_" + type + "_" + wide + " v0, v1, v2, v3 op_sel:[0,0," +
                        std::to_string(byte & 1) + "," + std::to_string(byte >> 1) + "]");
      const auto all = instructions(Arch::gfx950, lines);
      OneWave w(Arch::gfx950);
      w.fill(3, bits_of(4));
      const u32 last = nearest_bits(f, 1e30, true);
      for (const double part : {0.0, 0.25, 0.5, 0.75})
        for (u32 first = nearest_bits(f, 0x1p-6); first < last; first += 64) {  // normal numbers
          for (unsigned l = 0; l < 64; ++l) {
            const u32 lower = std::min(first + l, last - 1);
            const double low = value_of(f, lower), value = low + part * (value_of(f, lower + 1) - low);
            const double source = (l % 2 == 0 ? 4 : -4) * value;
            w.v(1, l) = wide == "f32" ? bits_of(source) : nearest_bits(format_model(wide, Arch::gfx950), source);
            w.v(2, l) = l * 0x9e3779b9U;
          }
          for (unsigned byte = 0; byte < 4; ++byte) {
            w.fill(0, 0xaabbccdd);
            w.run(all[byte]);
            for (unsigned l = 0; l < 64; ++l) {
              const u32 lower = std::min(first + l, last - 1);
              if (wide == "f16" && 4 * value_of(f, lower + 1) > 65504) continue;  // which a half cannot hold
              const bool up = part + std::ldexp(w.v(2, l) >> 24, -8) >= 1;
              const u32 expected = (up ? lower + 1 : lower) | (l % 2 == 0 ? 0 : 0x80);
              ASSERT_EQ(w.v(0, l), (0xaabbccddU & ~(0xffU << 8 * byte)) | expected << 8 * byte)
                  << lines[byte] << " " << part << " " << lower;
            }
          }
        }
    }
}

TEST(SmallFloatScaled, PairsOfFp8Widened) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950, Arch::gfx1201})
    for (const std::string type : {"fp8", "bf8"}) {
      const bool cdna_names = is_cdna(arch);
      const std::string stem = "v_cvt_pk_f32_" + type;
      const auto all =
          instructions(arch, {stem + "_e32 v[4:5], " + (cdna_names ? "v1" : "v1.l"),
                              cdna_names ? stem + "_sdwa v[6:7], v1 src0_sel:WORD_1" : stem + "_e64 v[6:7], v1.h"});
      OneWave w(arch);
      const unsigned lanes = w.wave().lanes;
      for (u32 first = 0; first < 256; first += lanes) {
        const auto byte = [&](unsigned lane, unsigned n) { return (first + lane + 77 * n) & 0xff; };
        for (unsigned l = 0; l < lanes; ++l)
          w.v(1, l) = byte(l, 0) | byte(l, 1) << 8 | byte(l, 2) << 16 | byte(l, 3) << 24;
        for (const Instruction& i : all) w.run(i);
        for (unsigned l = 0; l < lanes; ++l)
          for (unsigned n = 0; n < 4; ++n) {
            const double value = value_of(type, arch, byte(l, n));
            if (std::isnan(value)) ASSERT_TRUE(std::isnan(w.f(4 + n, l)));
            else ASSERT_EQ(w.v(4 + n, l), bits_of(value)) << name(arch) << " " << type << " " << byte(l, n);
          }
      }
    }
}

}  // namespace
}  // namespace rapt::sim::test
