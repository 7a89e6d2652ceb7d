// Buffer instructions that convert: formats of the instruction and of the descriptor.
#include "sim/tests/support/buffer_scene.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Scene = BufferScene;

struct Layout {
  const char* name;
  std::vector<unsigned> bits;  // X first

  unsigned all_bits() const { return std::accumulate(bits.begin(), bits.end(), 0U); }
};
const Layout layouts[] = {{"8", {8}},
                          {"16", {16}},
                          {"8_8", {8, 8}},
                          {"16_16", {16, 16}},
                          {"2_10_10_10", {10, 10, 10, 2}},
                          {"10_10_10_2", {2, 10, 10, 10}},
                          {"8_8_8_8", {8, 8, 8, 8}},
                          {"16_16_16_16", {16, 16, 16, 16}},
                          {"32", {32}},
                          {"32_32", {32, 32}},
                          {"32_32_32", {32, 32, 32}},
                          {"32_32_32_32", {32, 32, 32, 32}}};

struct Typed {
  const Layout* layout;
  std::string number, load, store;
};

// Every format that the architecture has.
std::vector<Typed> typed_formats(const Scene& scene) {
  std::vector<Typed> formats;
  for (const Layout& layout : layouts)
    for (const std::string number : {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"}) {
      const bool wide = layout.bits[0] == 32, halves = layout.bits[0] == 16;
      const bool fractions = number == "UNORM" || number == "SNORM" || number == "USCALED" || number == "SSCALED";
      if ((wide && fractions) || (number == "FLOAT" && !wide && !halves)) continue;
      if (std::string(layout.name) == "10_10_10_2" && !scene.gfx9() && number.find("SCALED") != std::string::npos)
        continue;
      const std::string format =
          scene.gfx9() ? std::string("[BUF_DATA_FORMAT_") + layout.name + ",BUF_NUM_FORMAT_" + number + "]"
                       : std::string("[BUF_FMT_") + layout.name + "_" + number + "]";
      const std::string rest = " v[8:11], v0, s[4:7], " + scene.none() + " format:" + format + " offen";
      formats.push_back({&layout, number, "tbuffer_load_format_xyzw" + rest, "tbuffer_store_format_xyzw" + rest});
    }
  return formats;
}

float half_to_float(u64 raw) {
  const int exponent = static_cast<int>(raw >> 10 & 31);
  const float m = std::ldexp(static_cast<float>((raw & 1023) + (exponent ? 1024 : 0)), std::max(exponent, 1) - 25);
  return raw >> 15 ? -m : m;
}

// The register of a component whose bits are `raw`, computed with long doubles.
u32 component(const std::string& number, unsigned bits, u64 raw) {
  const long double top = std::pow(2.0L, bits), half = top / 2;
  const long double u = raw, s = raw >= half ? raw - top : raw;
  if (number == "UINT" || (number == "FLOAT" && bits == 32)) return static_cast<u32>(raw);
  if (number == "SINT") return static_cast<u32>(static_cast<std::int64_t>(s));
  if (number == "FLOAT") return std::bit_cast<u32>(half_to_float(raw));
  const long double value = number == "UNORM"     ? u / (top - 1)
                            : number == "SNORM"   ? std::max(s / (half - 1), -1.0L)
                            : number == "USCALED" ? u
                                                  : s;
  return std::bit_cast<u32>(static_cast<float>(value));
}

u64 bits_of(const unsigned char* element, unsigned at, unsigned bits) {
  u64 raw = 0;
  for (unsigned b = 0; b < bits; ++b) raw |= u64{element[(at + b) / 8] >> (at + b) % 8 & 1U} << b;
  return raw;
}

void check_load(Scene& scene, const Typed& f, const std::vector<unsigned char>& memory) {
  scene.wave.go(f.load);
  const bool whole = f.number == "UINT" || f.number == "SINT";
  for (unsigned l = 0; l < scene.wave.wave().lanes; ++l)
    for (unsigned k = 0, at = 0; k < 4; ++k) {
      u32 expected = k < 3 ? 0 : whole ? 1 : std::bit_cast<u32>(1.0F);
      if (k < f.layout->bits.size()) {
        const unsigned bits = f.layout->bits[k];
        expected = component(f.number, bits, bits_of(memory.data() + 16 * l, at, bits));
        at += bits;
      }
      ASSERT_EQ(scene.wave.v(8 + k, l), expected) << f.load << " lane " << l << " component " << k;
    }
}

// Stores what check_load() left in the registers.
void check_store(Scene& scene, const Typed& f, const std::vector<unsigned char>& memory) {
  const unsigned total = f.layout->all_bits(), end = std::min(total / 8, 15U);
  std::memset(scene.memory.data(), 0xee, 2048);
  scene.wave.go(f.store);
  const bool exact = f.number != "SNORM";  // whose lowest number is -1, as the next one is
  for (unsigned l = 0; exact && l < scene.wave.wave().lanes; ++l)
    for (unsigned b = 0; b < total; ++b)
      ASSERT_EQ(bits_of(scene.memory.data() + 16 * l, b, 1), bits_of(memory.data() + 16 * l, b, 1))
          << f.store << " lane " << l;
  ASSERT_EQ(scene.memory.data()[end], total == 128 ? memory[end] : 0xee) << f.store << ": past the element";
}

// The values of an element's components; a store restores the same element.
TEST(Buffer, TypedFormats) {
  std::mt19937 random(11);
  for (const Target& target :
       {Target{Arch::gfx90a, 64}, Target{Arch::gfx942, 64}, Target{Arch::gfx1100, 32}, Target{Arch::gfx1201, 64}}) {
    SCOPED_TRACE(describe(target));
    Scene scene(target);
    const std::vector<Typed> formats = typed_formats(scene);
    std::vector<std::string> lines;
    for (const Typed& f : formats) lines.push_back(f.load), lines.push_back(f.store);
    scene.wave.prepare(lines);
    for (const Typed& f : formats) {
      for (unsigned n = 0; n < 2048; ++n) scene.memory.data()[n] = static_cast<unsigned char>(random());
      for (unsigned l = 0; l < target.lanes; ++l) scene.wave.v(0, l) = 16 * l;
      if (f.number == "FLOAT")  // no NaNs, which may change on their way through a float
        for (unsigned n = 0; n < 1024; ++n) scene.memory.at<std::uint16_t>(n) &= 0xbbff;
      const std::vector<unsigned char> before(scene.memory.data(), scene.memory.data() + 2048);
      ASSERT_NO_FATAL_FAILURE(check_load(scene, f, before));
      ASSERT_NO_FATAL_FAILURE(check_store(scene, f, before));
    }
  }
}

TEST(Buffer, DescriptorsFormatAndSelection) {
  for (const Target& target : {Target{Arch::gfx90a, 64}, Target{Arch::gfx1100, 32}, Target{Arch::gfx1201, 32}}) {
    Scene scene(target);
    MemoryWave& wave = scene.wave;
    const bool gfx9 = scene.gfx9();
    const std::string end = ", v0, s[4:7], " + scene.none() + " offen";
    const std::string xyzw = "buffer_load_format_xyzw v[8:11]" + end,
                      d16 =
                          std::string("buffer_load_") + (gfx9 ? "format_d16_xyz" : "d16_format_xyz") + " v[8:9]" + end,
                      high = std::string("buffer_load_") + (gfx9 ? "format_d16_hi_x" : "d16_hi_format_x") + " v8" + end,
                      store = std::string("buffer_store_") + (gfx9 ? "format_d16_xy" : "d16_format_xy") + " v8" + end;
    wave.prepare({xyzw, d16, high, store});
    // 8_8_8_8 UNORM; components: W, one, X, zero.
    const u32 format = gfx9 ? 0U << 12 | 10U << 15 : 42U << 12;
    wave.s(7) = 7 | 1 << 3 | 4 << 6 | 0 << 9 | format | (gfx9 ? 0 : 3U << 28);
    scene.memory.at<u32>(0) = 0x33ff8000;
    wave.fill(0, 0);
    wave.go(xyzw);
    EXPECT_EQ(wave.f(8, 1), 0x33 / 255.0F);
    EXPECT_EQ(wave.f(9, 1), 1.0F);
    EXPECT_EQ(wave.f(10, 1), 0.0F);
    EXPECT_EQ(wave.v(11, 1), 0U);
    wave.s(7) = 0xfac | format | (gfx9 ? 0 : 3U << 28);  // as they are
    wave.fill(8, 0xaaaaaaaa), wave.fill(9, 0xaaaaaaaa);
    wave.go(d16);
    EXPECT_EQ(wave.v(8, 1), 0x38040000U);  // 128 / 255 and 0 as halves
    EXPECT_EQ(wave.v(9, 1), gfx9 ? 0x3c00U : 0xaaaa3c00U);
    scene.memory.at<u32>(0) = 0xff;
    wave.fill(8, 0xaaaaaaaa);
    wave.go(high);
    EXPECT_EQ(wave.v(8, 1), gfx9 ? 0x3c000000U : 0x3c00aaaaU);
    wave.fill(8, 0x38003c00);
    wave.go(store);
    EXPECT_EQ(scene.memory.at<u32>(0) & 0xffff, 0x80ffU) << "1 and 0.5";
    // In range as a whole: three of the four bytes are not enough.
    wave.s(6) = 3;
    wave.fill(8, 9);
    wave.go(xyzw);
    EXPECT_EQ(wave.v(8, 1) | wave.v(9, 1) | wave.v(10, 1) | wave.v(11, 1), 0U);
  }
}

}  // namespace
}  // namespace rapt::sim::test
