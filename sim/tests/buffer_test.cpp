// Buffer instructions: address forms, range checks of each kind of buffer, swizzling, private memory, formats, LDS.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 outside = 0xbad0bad0;

// 4096 bytes that hold the numbers of their dwords; the descriptor in s[4:7].
struct Scene {
  explicit Scene(Target t) : target(t), wave(t), memory(4096) {
    for (u32 n = 0; n < 1024; ++n) memory.at<u32>(n) = n;
    wave.set_raw_buffer(4, memory.address(), 4096);
  }
  bool gfx9() const { return is_cdna(target.arch); }
  std::string load(const std::string& gfx9_name, const std::string& gfx11_name) const {
    return "buffer_load_" + (gfx9() ? gfx9_name : gfx11_name);
  }
  std::string none() const { return contains(gfx12, target.arch) ? "null" : "0"; }
  // Descriptor fields by name, in the architecture's layout.
  void structured(u32 stride, u32 records, bool swizzled, u32 index_stride_log2 = 3, bool add_tid = false,
                  u32 oob = 0) {
    wave.s(5) = (wave.s(5) & 0xffff) | stride << 16 | (swizzled ? gfx9() ? 0x80000000 : 0x40000000 : 0);
    wave.s(6) = records;
    wave.s(7) = (gfx9() ? 0xfac : 0xfac | oob << 28) | (index_stride_log2 - 3) << 21 | u32{add_tid} << 23;
  }

  Target target;
  MemoryWave wave;
  Block memory;
};

// Every dword of an access is checked on its own; the scalar offset counts (a public emulator checks the vector as a
// whole, without it, and reads before it checks).
TEST(Buffer, RawRange) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Scene scene(target);
    MemoryWave& wave = scene.wave;
    const std::string x4 = scene.load("dwordx4", "b128") + " v[8:11], v0, s[4:7], s2 offen offset:16";
    const std::string x3 = scene.load("dwordx3", "b96") + " v[8:10], v0, s[4:7], s2 offen offset:16";
    const std::string u16 = scene.load("ushort", "u16") + " v8, v0, s[4:7], s2 offen offset:16";
    const std::string store =
        std::string("buffer_store_") + (scene.gfx9() ? "dwordx4" : "b128") + " v[8:11], v0, s[4:7], s2 offen offset:16";
    wave.prepare({x4, x3, u16, store});
    constexpr u32 records = 1003;
    wave.s(2) = 24;
    wave.set_raw_buffer(4, scene.memory.address(), records);
    const auto reset = [&] {
      for (unsigned l = 0; l < target.lanes; ++l) {
        wave.v(0, l) = 880 + 4 * l + l % 3;  // total offset 920 and on
        for (unsigned r = 8; r < 12; ++r) wave.v(r, l) = outside;
      }
      wave.v(0, 5) = 0xfffffff0;  // the vector offset and the instruction's wrap to 0 at 32 bits
      wave.v(0, 6) = 0x80000000;
    };
    const auto offset = [&](unsigned l) { return u64{wave.v(0, l) + 16} + 24; };
    const auto check = [&](unsigned dwords) {
      for (unsigned l = 0; l < target.lanes; ++l)
        for (unsigned d = 0; d < 4; ++d) {
          u32 expected = 0;
          if (offset(l) + 4 * d + 4 <= records) std::memcpy(&expected, scene.memory.data() + offset(l) + 4 * d, 4);
          ASSERT_EQ(wave.v(8 + d, l), d < dwords ? expected : outside) << "lane " << l << " dword " << d;
        }
    };
    reset();
    wave.go(x4);
    check(4);
    reset();
    wave.go(x3);
    check(3);
    reset();
    wave.go(u16);
    for (unsigned l = 0; l < target.lanes; ++l) {
      std::uint16_t expected = 0;
      if (offset(l) + 2 <= records) std::memcpy(&expected, scene.memory.data() + offset(l), 2);
      ASSERT_EQ(wave.v(8, l), expected);
    }
    for (unsigned l = 0; l < target.lanes; ++l) {
      wave.v(0, l) = 300 + 17 * l;  // the last lanes are partly or wholly out of range
      for (unsigned d = 0; d < 4; ++d) wave.v(8 + d, l) = 0x11110000 * (d + 1) + l;
    }
    wave.set_exec(0x77777777777777ff);
    std::vector<unsigned char> expected(scene.memory.data(), scene.memory.data() + 4096);
    for (unsigned l = 0; l < target.lanes; ++l)
      for (unsigned d = 0; d < 4; ++d)
        if ((wave.wave().exec() >> l & 1) && offset(l) + 4 * d + 4 <= records)
          std::memcpy(expected.data() + offset(l) + 4 * d, &wave.v(8 + d, l), 4);
    wave.go(store);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), scene.memory.data()));
  }
}

TEST(Buffer, ADescriptorOfZerosReadsZero) {
  for (const Target& target : every_target()) {
    Scene scene(target);
    const std::string text = scene.load("dwordx2", "b64") + " v[8:9], v0, s[4:7], " + scene.none() + " offen";
    scene.wave.prepare({text});
    for (unsigned n = 4; n < 8; ++n) scene.wave.s(n) = 0;
    scene.wave.fill(0, 0), scene.wave.fill(8, outside), scene.wave.fill(9, outside);
    scene.wave.go(text);
    for (unsigned l = 0; l < target.lanes; ++l) ASSERT_EQ(scene.wave.v(8, l) | scene.wave.v(9, l), 0U);
  }
}

// Index and offset from two registers; records are counted, not bytes.
TEST(Buffer, Structured) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Scene scene(target);
    MemoryWave& wave = scene.wave;
    const std::string both = scene.load("dwordx2", "b64") + " v[8:9], v[0:1], s[4:7], s2 idxen offen offset:4";
    const std::string index = scene.load("dword", "b32") + " v8, v0, s[4:7], " + scene.none() + " idxen offset:8";
    wave.prepare({both, index});
    wave.s(2) = 8;
    constexpr u32 stride = 36, records = 20;
    const u32 n = target.lanes;
    for (unsigned l = 0; l < n; ++l) wave.v(0, l) = l % 24, wave.v(1, l) = l / 2 % 10 * 4;
    const auto run = [&](const std::string& text, u32 oob, auto in_range) {
      scene.structured(stride, records, false, 3, false, oob);
      wave.fill(8, outside), wave.fill(9, outside);
      wave.go(text);
      const bool two = text == both;
      for (unsigned l = 0; l < n; ++l)
        for (unsigned d = 0; d < (two ? 2U : 1U); ++d) {
          const u32 offset = two ? wave.v(1, l) + 4 : 8;
          const u32 at = wave.v(0, l) * stride + offset + (two ? 8 : 0) + 4 * d;
          ASSERT_EQ(wave.v(8 + d, l), in_range(wave.v(0, l), offset + 4 * d + 4) ? at / 4 : 0)
              << text << " lane " << l << " dword " << d;
        }
    };
    if (scene.gfx9()) {
      run(both, 0, [](u32 i, u32) { return i < records; });
      run(index, 0, [](u32 i, u32) { return i < records; });
    } else {
      run(both, 0, [](u32 i, u32 end) { return i < records && end <= stride; });
      run(both, 1, [](u32 i, u32) { return i < records; });
      run(both, 2, [](u32, u32) { return true; });
      run(index, 0, [](u32 i, u32 end) { return i < records && end <= stride; });
    }
  }
}

// The documents' formula for swizzled buffers, with what each field does worked out by hand for one case: 8 indices
// beside each other, elements of 4 bytes, stride 16: dword d of record i lies at ((i / 8) * 16 + 4 * d) * 8 + (i % 8)
// * 4.
TEST(Buffer, Swizzled) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Scene scene(target);
    MemoryWave& wave = scene.wave;
    const std::string text = scene.load("dwordx2", "b64") + " v[8:9], v[0:1], s[4:7], s2 idxen offen offset:4";
    wave.prepare({text});
    wave.s(2) = 32;
    scene.structured(16, 60, true, 3);
    for (unsigned l = 0; l < target.lanes; ++l) wave.v(0, l) = l * 5 % 60, wave.v(1, l) = l % 2 * 4;
    wave.go(text);
    for (unsigned l = 0; l < target.lanes; ++l)
      for (unsigned d = 0; d < 2; ++d) {
        const u32 i = wave.v(0, l), dword = wave.v(1, l) / 4 + 1 + d;
        ASSERT_EQ(wave.v(8 + d, l), (((i / 8) * 16 + 4 * dword) * 8 + i % 8 * 4 + 32) / 4) << "lane " << l;
      }
  }
}

// Private memory by a descriptor, as gfx908 and gfx90a kernels reach it: lane l's dword d at (d * 64 + l) * 4 of the
// wave's block.
TEST(Buffer, PrivateMemory) {
  for (const Arch arch : {Arch::gfx908, Arch::gfx90a}) {
    MemoryWave wave({arch, 64});
    Block scratch(3 * 64 * 512);  // of three waves; this one is the second
    const u32 wave_offset = 64 * 512;
    wave.wave().scratch_base = scratch.address() + wave_offset;
    // LLVM's descriptor: swizzle on, index stride 64, the lane's number added.
    wave.s(0) = static_cast<u32>(scratch.address());
    wave.s(1) = static_cast<u32>(scratch.address() >> 32) | 0x80000000;
    wave.s(2) = 0xffffffff;
    wave.s(3) = 0x00e00000;
    wave.s(33) = wave_offset;
    const std::string lines[] = {"buffer_store_dword v8, off, s[0:3], s33 offset:20",
                                 "buffer_load_dwordx3 v[8:10], v0, s[0:3], s33 offen offset:8",
                                 "buffer_store_short v8, v0, s[0:3], s33 offen offset:2",
                                 "scratch_load_dword v12, off, s40"};
    wave.prepare({std::begin(lines), std::end(lines)});
    for (u32 n = 0; n < scratch.size() / 4; ++n) scratch.at<u32>(n) = n;
    for (unsigned l = 0; l < 64; ++l) wave.v(8, l) = 7000 + l, wave.v(0, l) = l % 4 * 4;
    wave.go(lines[0]);
    for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(scratch.at<u32>((wave_offset + (5 * 64 + l) * 4) / 4), 7000 + l);
    wave.s(40) = 20;
    wave.go(lines[3]);
    for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(wave.v(12, l), 7000 + l) << "scratch and buffer instructions agree";
    wave.go(lines[1]);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned d = 0; d < 3; ++d) {
        const u32 dword = l % 4 + 2 + d;
        ASSERT_EQ(wave.v(8 + d, l), dword == 5 ? 7000 + l : wave_offset / 4 + dword * 64 + l);
      }
    wave.go(lines[2]);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(scratch.at<u32>(wave_offset / 4 + l % 4 * 64 + l) >> 16, wave.v(8, l) & 0xffff);
    wave.v(0, 9) = 504;
    try {
      wave.go(lines[1]);
      ADD_FAILURE() << "reads the next wave's memory";
    } catch (const Fault& fault) {
      EXPECT_EQ(fault.kind, FaultKind::illegal_address);
      EXPECT_EQ(fault.lane, 9U);
    }
  }
}

TEST(Buffer, RangeIsNotTheAllocation) {
  Scene scene({Arch::gfx942, 64});
  const std::string text = "buffer_load_dword v8, v0, s[4:7], 0 offen";
  scene.wave.prepare({text});
  scene.wave.s(6) = 1 << 20;  // more than the allocation has
  for (unsigned l = 0; l < 64; ++l) scene.wave.v(0, l) = l == 7 ? 4096 : 0;
  try {
    scene.wave.go(text);
    ADD_FAILURE();
  } catch (const Fault& fault) {
    EXPECT_EQ(fault.kind, FaultKind::illegal_address);
    EXPECT_EQ(fault.lane, 7U);
    EXPECT_NE(std::string(fault.what()).find("0 bytes past the end of the 4096 bytes"), std::string::npos)
        << fault.what();
  }
  scene.wave.s(6) = 4096;
  EXPECT_NO_THROW(scene.wave.go(text));
}

TEST(Buffer, AtomicsOutOfRange) {
  for (const Target& target : {Target{Arch::gfx90a, 64}, Target{Arch::gfx1100, 32}}) {
    Scene scene(target);
    const std::string text = scene.gfx9() ? "buffer_atomic_add v8, v0, s[4:7], 0 offen glc"
                                          : "buffer_atomic_add_u32 v8, v0, s[4:7], 0 offen glc";
    scene.wave.prepare({text});
    scene.wave.s(6) = 16;
    for (unsigned l = 0; l < target.lanes; ++l) scene.wave.v(0, l) = l % 8 * 4, scene.wave.v(8, l) = 1000;
    scene.wave.go(text);
    for (unsigned l = 0; l < target.lanes; ++l) ASSERT_EQ(scene.wave.v(8, l), l % 8 < 4 ? l % 8 + l / 8 * 1000 : 0);
    EXPECT_EQ(scene.memory.at<u32>(3), 3 + target.lanes / 8 * 1000);
    EXPECT_EQ(scene.memory.at<u32>(4), 4U);
  }
}

TEST(Buffer, TextureFailEnableGetsAZero) {
  for (const Target& target : {Target{Arch::gfx90a, 64}, Target{Arch::gfx1100, 32}, Target{Arch::gfx1201, 32}}) {
    Scene scene(target);
    if (target.arch == Arch::gfx90a) continue;  // has no TFE
    const std::string text = scene.load("dword", "b32") + " v[8:9], v0, s[4:7], " + scene.none() + " offen tfe";
    scene.wave.prepare({text});
    scene.wave.fill(0, 40), scene.wave.fill(9, 5);
    scene.wave.go(text);
    EXPECT_EQ(scene.wave.v(8, 3), 10U);
    EXPECT_EQ(scene.wave.v(9, 3), 0U);
  }
}

// What the components of an element mean, worked out with long doubles; a store brings the same element back.
TEST(Buffer, TypedFormats) {
  struct Layout {
    const char* name;
    std::vector<unsigned> bits;  // X first
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
  const char* numbers[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT"};
  std::mt19937 random(11);
  for (const Target& target :
       {Target{Arch::gfx90a, 64}, Target{Arch::gfx942, 64}, Target{Arch::gfx1100, 32}, Target{Arch::gfx1201, 64}}) {
    Scene scene(target);
    MemoryWave& wave = scene.wave;
    struct Case {
      const Layout* layout;
      std::string number, load, store;
    };
    std::vector<Case> cases;
    std::vector<std::string> lines;
    for (const Layout& layout : layouts)
      for (const std::string number : numbers) {
        const bool wide = layout.bits[0] == 32, halves = layout.bits[0] == 16;
        const bool fractions = number == "UNORM" || number == "SNORM" || number == "USCALED" || number == "SSCALED";
        if ((wide && fractions) || (number == "FLOAT" && !wide && !halves)) continue;
        if (std::string(layout.name) == "10_10_10_2" && !scene.gfx9() && number.find("SCALED") != std::string::npos)
          continue;
        const std::string format =
            scene.gfx9() ? std::string("[BUF_DATA_FORMAT_") + layout.name + ",BUF_NUM_FORMAT_" + number + "]"
                         : std::string("[BUF_FMT_") + layout.name + "_" + number + "]";
        const std::string rest = " v[8:11], v0, s[4:7], " + scene.none() + " format:" + format + " offen";
        cases.push_back({&layout, number, "tbuffer_load_format_xyzw" + rest, "tbuffer_store_format_xyzw" + rest});
        lines.push_back(cases.back().load), lines.push_back(cases.back().store);
      }
    wave.prepare(lines);
    for (const Case& c : cases) {
      unsigned total = 0;
      for (const unsigned b : c.layout->bits) total += b;
      for (unsigned n = 0; n < 2048; ++n) scene.memory.data()[n] = static_cast<unsigned char>(random());
      for (unsigned l = 0; l < target.lanes; ++l) wave.v(0, l) = 16 * l;
      if (c.number == "FLOAT")  // no NaNs, which may change on their way through a float
        for (unsigned n = 0; n < 1024; ++n) scene.memory.at<std::uint16_t>(n) &= 0xbbff;
      const std::vector<unsigned char> before(scene.memory.data(), scene.memory.data() + 2048);
      wave.go(c.load);
      for (unsigned l = 0; l < target.lanes; ++l) {
        unsigned at = 0;
        for (unsigned k = 0; k < 4; ++k) {
          const bool whole = c.number == "UINT" || c.number == "SINT";
          u32 expected = k < 3 ? 0 : whole ? 1 : std::bit_cast<u32>(1.0F);
          if (k < c.layout->bits.size()) {
            const unsigned bits = c.layout->bits[k];
            u64 raw = 0;
            for (unsigned b = 0; b < bits; ++b)
              raw |= u64{before[16 * l + (at + b) / 8]} >> (at + b) % 8 % 8 << 63 >> (63 - b);
            const long double top = std::pow(2.0L, bits), half = top / 2;
            const long double u = raw, s = raw >= half ? raw - top : raw;
            at += bits;
            if (c.number == "UINT") expected = static_cast<u32>(raw);
            else if (c.number == "SINT") expected = static_cast<u32>(static_cast<std::int64_t>(s));
            else if (c.number == "FLOAT" && bits == 32) expected = static_cast<u32>(raw);
            else if (c.number == "FLOAT") {
              const int exponent = static_cast<int>(raw >> 10 & 31);
              const float m =
                  std::ldexp(static_cast<float>((raw & 1023) + (exponent ? 1024 : 0)), std::max(exponent, 1) - 25);
              expected = std::bit_cast<u32>(raw >> 15 ? -m : m);
            } else {
              const long double value = c.number == "UNORM"     ? u / (top - 1)
                                        : c.number == "SNORM"   ? std::max(s / (half - 1), -1.0L)
                                        : c.number == "USCALED" ? u
                                                                : s;
              expected = std::bit_cast<u32>(static_cast<float>(value));
            }
          }
          ASSERT_EQ(wave.v(8 + k, l), expected)
              << describe(target) << " " << c.load << " lane " << l << " component " << k;
        }
      }
      std::memset(scene.memory.data(), 0xee, 2048);
      wave.go(c.store);
      for (unsigned l = 0; l < target.lanes; ++l)
        for (unsigned b = 0; b < total; ++b) {
          // The lowest of SNORM is -1, as the next number is.
          if (c.number == "SNORM") continue;
          ASSERT_EQ(scene.memory.data()[16 * l + b / 8] >> b % 8 & 1, before[16 * l + b / 8] >> b % 8 & 1)
              << describe(target) << " " << c.store << " lane " << l;
        }
      const unsigned end = std::min(total / 8, 15U);
      ASSERT_EQ(scene.memory.data()[end], total == 128 ? before[end] : 0xee) << c.store << ": past the element";
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

// Lane l's dword goes to M0 + the instruction's offset + 4 * l, of wide loads to 16 * l; what is out of range becomes
// 0.
TEST(Buffer, LoadsToLds) {
  for (const Arch arch : {Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    Scene scene({arch, 64});
    MemoryWave& wave = scene.wave;
    std::vector<std::string> lines = {"buffer_load_dword v0, s[4:7], 0 offen offset:16 lds",
                                      "buffer_load_sbyte v0, s[4:7], 0 offen offset:16 lds"};
    if (arch == Arch::gfx950)
      lines.push_back("buffer_load_dwordx4 v0, s[4:7], 0 offen offset:16 lds"),
          lines.push_back("buffer_load_dwordx3 v0, s[4:7], 0 offen offset:16 lds");
    if (arch == Arch::gfx908) lines.push_back("buffer_store_lds_dword s[4:7], s2 offset:8 lds");
    wave.prepare(lines);
    const auto lds = [&](u32 byte) { return *reinterpret_cast<u32*>(wave.group.lds.data() + byte); };
    const auto reset = [&] {
      std::fill(wave.group.lds.begin(), wave.group.lds.end(), 0xee);
      for (unsigned l = 0; l < 64; ++l) wave.v(0, l) = (63 - l) * 20;
      wave.s(sreg::m0) = 512;
      wave.s(6) = 1200;
      wave.set_exec(~u64{2});
    };
    const auto memory = [&](u32 byte) { return byte + 4 <= 1200 ? scene.memory.at<u32>(byte / 4) : 0; };
    reset();
    wave.go(lines[0]);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(lds(512 + 16 + 4 * l), l == 1 ? 0xeeeeeeee : memory((63 - l) * 20 + 16)) << l;
    EXPECT_EQ(lds(512 + 16 + 256), 0xeeeeeeeeU);
    reset();
    scene.memory.data()[16] = 0x80;
    wave.go(lines[1]);
    EXPECT_EQ(lds(512 + 16 + 4 * 63), 0xffffff80U);
    scene.memory.at<u32>(4) = 4;
    if (arch == Arch::gfx950) {
      reset();
      wave.go(lines[2]);
      for (unsigned l = 0; l < 64; ++l)
        for (unsigned d = 0; d < 4; ++d)
          ASSERT_EQ(lds(528 + 16 * l + 4 * d), l == 1 ? 0xeeeeeeee : memory((63 - l) * 20 + 16 + 4 * d));
      reset();
      wave.go(lines[3]);
      for (unsigned l = 2; l < 64; ++l) {
        ASSERT_EQ(lds(528 + 16 * l + 8), memory((63 - l) * 20 + 24));
        ASSERT_EQ(lds(528 + 16 * l + 12), 0xeeeeeeeeU) << "the fourth dword is skipped";
      }
    }
    if (arch == Arch::gfx908) {
      reset();
      wave.s(2) = 40, wave.set_exec(1);
      *reinterpret_cast<u32*>(wave.group.lds.data() + 520) = 0x1234;
      wave.go(lines[2]);
      EXPECT_EQ(scene.memory.at<u32>(12), 0x1234U);
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
