// Buffer instructions: address forms, range checks of each kind of buffer, swizzling, private memory, LDS.
#include "sim/tests/support/buffer_scene.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 outside = 0xbad0bad0;
using Scene = BufferScene;

// Every dword of an access is checked separately; the scalar offset counts (a public emulator checks the vector as a
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

// The documents' formula for swizzled buffers, with the effect of each field computed by hand for one case. With 8
// adjacent indices, elements of 4 bytes and stride 16, dword d of record i is at (i / 8 * 16 + 4d) * 8 + i % 8 * 4.
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

// Private memory through a descriptor, as kernels access it up to gfx90a: lane l's dword d at (d * 64 + l) * 4 of
// the wave's block.
TEST(Buffer, PrivateMemory) {
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a}) {
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

// Lane l's dword goes to M0 + the instruction's offset + 4 * l, of wide loads to 16 * l; out-of-range data become
// 0.
TEST(Buffer, LoadsToLds) {
  constexpr ArchSet gfx940 = only(Arch::gfx942) | only(Arch::gfx950);  // which cannot store from it
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    Scene scene({arch, 64});
    MemoryWave& wave = scene.wave;
    std::vector<std::string> lines = {"buffer_load_dword v0, s[4:7], 0 offen offset:16 lds",
                                      "buffer_load_sbyte v0, s[4:7], 0 offen offset:16 lds"};
    if (arch == Arch::gfx950)
      lines.push_back("buffer_load_dwordx4 v0, s[4:7], 0 offen offset:16 lds"),
          lines.push_back("buffer_load_dwordx3 v0, s[4:7], 0 offen offset:16 lds");
    if (!contains(gfx940, arch)) lines.push_back("buffer_store_lds_dword s[4:7], s2 offset:8 lds");
    const std::string wait = "s_waitcnt vmcnt(0)";  // they write when the wave waits for them
    lines.push_back(wait);
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
    wave.go(lines[0]), wave.go(wait);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(lds(512 + 16 + 4 * l), l == 1 ? 0xeeeeeeee : memory((63 - l) * 20 + 16)) << l;
    EXPECT_EQ(lds(512 + 16 + 256), 0xeeeeeeeeU);
    reset();
    scene.memory.data()[16] = 0x80;
    wave.go(lines[1]), wave.go(wait);
    EXPECT_EQ(lds(512 + 16 + 4 * 63), 0xffffff80U);
    scene.memory.at<u32>(4) = 4;
    if (arch == Arch::gfx950) {
      reset();
      wave.go(lines[2]), wave.go(wait);
      for (unsigned l = 0; l < 64; ++l)
        for (unsigned d = 0; d < 4; ++d)
          ASSERT_EQ(lds(528 + 16 * l + 4 * d), l == 1 ? 0xeeeeeeee : memory((63 - l) * 20 + 16 + 4 * d));
      reset();
      wave.go(lines[3]), wave.go(wait);
      for (unsigned l = 2; l < 64; ++l) {
        ASSERT_EQ(lds(528 + 16 * l + 8), memory((63 - l) * 20 + 24));
        ASSERT_EQ(lds(528 + 16 * l + 12), 0xeeeeeeeeU) << "the fourth dword is skipped";
      }
    }
    if (!contains(gfx940, arch)) {
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
