// Scalar loads, stores and atomics (CDNA3 ISA 8, RDNA3 ISA 8, RDNA4 ISA 8): sizes, offsets, ranges of buffers.
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::string block_of(unsigned first, unsigned dwords) {
  return dwords == 1 ? "s" + std::to_string(first)
                     : "s[" + std::to_string(first) + ":" + std::to_string(first + dwords - 1) + "]";
}

std::string load_name(Arch arch, const std::string& stem, unsigned dwords) {
  if (is_cdna(arch)) return stem + "_dword" + (dwords == 1 ? "" : "x" + std::to_string(dwords));
  return stem + "_b" + std::to_string(32 * dwords);
}

struct Scene : MemoryWave {
  explicit Scene(Target target) : MemoryWave(target), memory(4096) {
    for (u32 n = 0; n < 1024; ++n) memory.at<u32>(n) = 0x9e3779b9U * (n + 1);
    wave().set_pair(4, memory.address() + 1024);
    s(8) = static_cast<u32>(memory.address()), s(9) = static_cast<u32>(memory.address() >> 32);  // a raw buffer
    s(10) = 200, s(11) = 0;
  }
  u32 word(u32 byte) const { return memory.at<u32>(byte / 4); }
  Block memory;
};

TEST(ScalarMemory, LoadsOfEverySizeAndOffset) {
  struct Line {
    unsigned dwords;
    int offset;
    std::string text;
  };
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    std::vector<Line> lines;
    std::vector<std::string> texts;
    for (const unsigned dwords : {1U, 2U, 4U, 8U, 16U}) {
      const std::string start = load_name(target.arch, "s_load", dwords) + " " + block_of(32, dwords) + ", s[4:5], ";
      for (const auto& [offset, text] : {std::pair{0, "0x0"}, {64, "0x40"}, {-192, "-0xc0"}})
        lines.push_back({dwords, offset, start + text});
      lines.push_back({dwords, 128, start + "s6" + (contains(gfx12, target.arch) ? " offset:0x0" : "")});
    }
    for (const Line& line : lines) texts.push_back(line.text);
    Scene scene(target);
    scene.prepare(texts);
    scene.s(6) = 128;
    for (const Line& line : lines) {
      scene.go(line.text);
      for (unsigned d = 0; d < line.dwords; ++d)
        ASSERT_EQ(scene.s(32 + d), scene.word(static_cast<u32>(1024 + line.offset) + 4 * d)) << line.text;
    }
  }
}

// The two lowest bits of each part of a dword's address are zero: 3 + 1 does not carry into the next dword.
TEST(ScalarMemory, LowestBitsOfEachPartAreIgnored) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Scene scene(target);
    scene.wave().set_pair(4, scene.memory.address() + 1024 + 3);
    scene.s(6) = 64 + 1, scene.s(8) += 3;
    const std::string in_register = std::string("s6") + (contains(gfx12, target.arch) ? " offset:0x0" : "");
    scene.run(load_name(target.arch, "s_load", 1) + " s32, s[4:5], 0x41\n" + load_name(target.arch, "s_load", 1) +
              " s33, s[4:5], " + in_register + "\n" + load_name(target.arch, "s_buffer_load", 1) + " s34, s[8:11], " +
              in_register);
    EXPECT_EQ(scene.s(32), scene.word(1024 + 64));
    EXPECT_EQ(scene.s(33), scene.word(1024 + 64));
    EXPECT_EQ(scene.s(34), scene.word(64));
  }
}

// 200 bytes of range: reads beyond give 0.
TEST(ScalarMemory, BufferLoadsStayInRange) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    Scene scene(target);
    for (const unsigned dwords : {1U, 2U, 4U, 8U, 16U}) {
      scene.run(load_name(target.arch, "s_buffer_load", dwords) + " " + block_of(32, dwords) + ", s[8:11], 0x80");
      for (unsigned d = 0; d < dwords; ++d) {
        const u32 byte = 0x80 + 4 * d;
        ASSERT_EQ(scene.s(32 + d), byte + 4 <= 200 ? scene.word(byte) : 0U) << dwords << " " << d;
      }
    }
  }
}

TEST(ScalarMemory, NarrowLoadsOfGfx12) {
  Scene scene({Arch::gfx1201, 32});
  scene.memory.at<u32>(256) = 0x8765a9f1;
  scene.run(
      "s_load_u8 s32, s[4:5], 0x0\ns_load_i8 s33, s[4:5], 0x0\ns_load_u16 s34, s[4:5], 0x0\n"
      "s_load_i16 s35, s[4:5], 0x2\ns_load_b96 s[36:38], s[4:5], 0x0\ns_buffer_load_u8 s39, s[8:11], 0x3\n"
      "s_buffer_load_i8 s40, s[8:11], 0x3\ns_buffer_load_u16 s41, s[8:11], 0x2\n"
      "s_buffer_load_i16 s42, s[8:11], 0x2\ns_buffer_load_b96 s[44:46], s[8:11], 0x8");
  EXPECT_EQ(scene.s(32), 0xf1U);
  EXPECT_EQ(scene.s(33), 0xfffffff1U);
  EXPECT_EQ(scene.s(34), 0xa9f1U);
  EXPECT_EQ(scene.s(35), 0xffff8765U);
  for (u32 d = 0; d < 3; ++d) EXPECT_EQ(scene.s(36 + d), scene.word(1024 + 4 * d));
  const u32 first = scene.word(0);
  EXPECT_EQ(scene.s(39), first >> 24);
  EXPECT_EQ(scene.s(40), static_cast<u32>(static_cast<std::int8_t>(first >> 24)));
  EXPECT_EQ(scene.s(41), first >> 16);
  EXPECT_EQ(scene.s(42), static_cast<u32>(static_cast<std::int16_t>(first >> 16)));
  for (u32 d = 0; d < 3; ++d) EXPECT_EQ(scene.s(44 + d), scene.word(8 + 4 * d));
}

// MI100's document has them; later ones of the family keep the opcodes.
TEST(ScalarMemory, Stores) {
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    SCOPED_TRACE(name(arch));
    Scene scene({arch, 64});
    for (u32 d = 0; d < 4; ++d) scene.s(32 + d) = 0x100 + d;
    scene.run(
        "s_store_dword s32, s[4:5], 0x0\ns_store_dwordx2 s[32:33], s[4:5], 0x10\n"
        "s_store_dwordx4 s[32:35], s[4:5], 0x20\ns_buffer_store_dword s33, s[8:11], 0x4\n"
        "s_buffer_store_dwordx2 s[34:35], s[8:11], 0x8\ns_buffer_store_dwordx4 s[32:35], s[8:11], 0xb8");
    EXPECT_EQ(scene.word(1024), 0x100U);
    EXPECT_EQ(scene.word(1024 + 0x14), 0x101U);
    for (u32 d = 0; d < 4; ++d) EXPECT_EQ(scene.word(1024 + 0x20 + 4 * d), 0x100 + d);
    EXPECT_EQ(scene.word(4), 0x101U);
    EXPECT_EQ(scene.word(12), 0x103U);
    for (u32 d = 0; d < 4; ++d)  // 200 bytes of range
      EXPECT_EQ(scene.word(0xb8 + 4 * d), 0xb8 + 4 * d < 200 ? 0x100 + d : 0x9e3779b9U * (0xb8 / 4 + d + 1));
  }
}

// A register's offset is in units of 64 bytes, the immediate one in bytes.
TEST(ScalarMemory, Scratch) {
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    SCOPED_TRACE(name(arch));
    Scene scene({arch, 64});
    scene.s(6) = 3;
    for (const unsigned dwords : {1U, 2U, 4U}) {
      const std::string size = dwords == 1 ? "dword " : "dwordx" + std::to_string(dwords) + " ";
      for (u32 d = 0; d < 8; ++d) scene.s(32 + d) = 0, scene.s(40 + d) = 0x1000 * dwords + d;
      scene.run("s_scratch_load_" + size + block_of(32, dwords) + ", s[4:5], 0x40\ns_scratch_load_" + size +
                block_of(36, dwords) + ", s[4:5], s6\ns_scratch_store_" + size + block_of(40, dwords) +
                ", s[4:5], 0x80\ns_scratch_store_" + size + block_of(44, dwords) + ", s[4:5], s6");
      for (u32 d = 0; d < 4; ++d) {
        const bool moved = d < dwords;
        ASSERT_EQ(scene.s(32 + d), moved ? scene.word(1024 + 0x40 + 4 * d) : 0);
        ASSERT_EQ(scene.word(1024 + 0x80 + 4 * d) == 0x1000 * dwords + d, moved);
        ASSERT_EQ(scene.word(1024 + 192 + 4 * d) == 0x1000 * dwords + 4 + d, moved);
      }
      ASSERT_EQ(scene.s(36), dwords == 1 ? 0x9e3779b9U * ((1024 + 192) / 4 + 1) : 0x1000 * (dwords / 2) + 4)
          << "what the stores of half the size left";
    }
  }
}

TEST(ScalarMemory, StoresMarkWhatTheyWrite) {
  Memory::set_tracking(true);
  Scene scene({Arch::gfx908, 64});
  const Block fresh(4096);
  scene.wave().set_pair(4, fresh.address());
  scene.run("s_scratch_store_dwordx2 s[32:33], s[4:5], 0x40\ns_store_dword s32, s[4:5], 0x80");
  Memory::set_tracking(false);
  for (u32 byte = 0; byte < 256; ++byte)
    ASSERT_EQ(Memory::process().is_written(fresh.address() + byte, 1),
              (byte >= 0x40 && byte < 0x48) || (byte >= 0x80 && byte < 0x84))
        << byte;
}

// The machine's clock; the real-time counter's 100 MHz are about a twentieth of it.
TEST(ScalarMemory, Clocks) {
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    OneWave wave(arch);
    wave.wave().cycles = 0x123456789a;
    wave.run("s_memtime s[20:21]\ns_memrealtime s[22:23]");
    EXPECT_EQ(wave.wave().pair(20), 0x123456789aU);
    EXPECT_EQ(wave.wave().pair(22), 0x123456789aU / 20);
  }
}

}  // namespace
}  // namespace rapt::sim::test
