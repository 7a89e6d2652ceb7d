// The sanitizer's checks of gfx11's WMMA operands and of alignment.
#include "sim/tests/support/checked_group.hpp"

#include "sim/memory/memory.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr CheckOptions only_operands{.operands = true}, only_alignment{.alignment = true};

void replicate(Wave& wave, unsigned first, unsigned count) {
  for (unsigned r = first; r < first + count; ++r)
    for (unsigned l = 0; l < wave.lanes; ++l) wave.row(r)[l] = 1000 * r + l % 16;
}

TEST(Operands, EqualCopiesAreSilent) {
  for (unsigned lanes : {32U, 64U}) {
    const std::string d = lanes == 32 ? "v[24:31]" : "v[24:27]";
    CheckedGroup group(Arch::gfx1100, {"v_wmma_f32_16x16x16_f16 " + d + ", v[8:15], v[16:23], " + d}, only_operands,
                       lanes);
    replicate(group.wave(0), 8, 16);
    group.wave(0).set_pair(sreg::exec, 1);  // ignored
    EXPECT_EQ(group.run({0}), "") << lanes;
  }
}

TEST(Operands, DifferentCopiesAreNamed) {
  struct Case {
    unsigned lanes, reg, lane;
    const char* text;
  };
  for (const Case& c :
       {Case{32, 9, 20, "the copies of matrix A differ: v9 is 0x0000232c in lane 4 and 0x0000232d in lane 20: v_wmma"},
        Case{32, 23, 31, "the copies of matrix B differ: v23 is 0x000059e7 in lane 15 and 0x000059e6 in lane 31"},
        Case{64, 16, 48, "the copies of matrix B differ: v16 is 0x00003e80 in lane 0 and 0x00003e81 in lane 48"}}) {
    const std::string d = c.lanes == 32 ? "v[24:31]" : "v[24:27]";
    CheckedGroup group(Arch::gfx1151, {"v_wmma_f32_16x16x16_bf16 " + d + ", v[8:15], v[16:23], " + d}, only_operands,
                       c.lanes);
    replicate(group.wave(0), 8, 16);
    group.wave(0).row(c.reg)[c.lane] ^= 1;
    const std::string found = group.run({0});
    EXPECT_EQ(found.substr(0, std::string(c.text).size()), c.text);
    EXPECT_NE(found.find("lane " + std::to_string(c.lane), found.size() - 8), std::string::npos) << found;
  }
  // Integers take fewer registers: registers after them are not operands.
  CheckedGroup group(Arch::gfx1100, {"v_wmma_i32_16x16x16_iu8 v[24:31], v[8:11], v[16:19], v[24:31]"}, only_operands);
  replicate(group.wave(0), 8, 16);
  group.wave(0).row(12)[20] ^= 1;
  EXPECT_EQ(group.run({0}), "");
}

TEST(Operands, OtherArchitecturesHaveNoCopies) {
  CheckedGroup group(Arch::gfx1201, {"v_wmma_f32_16x16x16_f16 v[24:31], v[8:11], v[16:19], v[24:31]"}, only_operands);
  group.wave(0).row(8)[3] = 7;
  EXPECT_EQ(group.run({0}), "");
}

class SomeMemory {
 public:
  SomeMemory() : data_(Memory::process().allocate(65536 + 64 * 2048, 256, MemoryKind::device, 0)) {}
  ~SomeMemory() { Memory::process().release(data_); }
  unsigned char* data() const { return static_cast<unsigned char*>(data_); }

 private:
  void* data_;
};

// One lane of each access is misaligned by `shift` bytes.
std::string aligned(Arch arch, const std::string& text, unsigned step, unsigned shift, unsigned lane = 5) {
  const SomeMemory memory;
  CheckedGroup group(arch, {text}, only_alignment);
  Wave& w = group.wave(0);
  group.set_address(2, memory.data());
  for (unsigned l = 0; l < w.lanes; ++l) w.row(0)[l] = l * step + (l == lane ? shift : 0);
  w.sgpr[8] = shift;
  // Sixteen bytes or more of private memory per lane.
  w.scratch_base = reinterpret_cast<std::uint64_t>(memory.data()) + 65536;
  w.scratch_bytes_per_lane = 2048;
  // A raw buffer over the memory.
  w.set_pair(4, reinterpret_cast<std::uint64_t>(memory.data()));
  w.sgpr[6] = 4096;
  w.sgpr[7] = is_cdna(arch) ? 0x00027fac : 0x31014fac;
  return group.run({0});
}

// Plain accesses of memory, private memory and LDS may have any address: ROCm sets the unaligned mode.
TEST(Alignment, PlainAccessesNeedNone) {
  for (const char* text : {"global_load_dword v1, v0, s[2:3]", "global_load_dwordx2 v[2:3], v0, s[2:3]",
                           "global_store_dwordx4 v0, v[4:7], s[2:3]", "buffer_load_dword v1, v0, s[4:7], 0 offen",
                           "ds_read_b32 v1, v0", "ds_read_b64 v[2:3], v0", "scratch_load_dwordx2 v[2:3], v0, off"})
    for (unsigned shift : {1U, 2U, 3U}) EXPECT_EQ(aligned(Arch::gfx942, text, 16, shift), "") << text;
  for (const char* text : {"global_store_b32 v0, v1, s[2:3]", "global_load_u16 v1, v0, s[2:3]", "ds_load_u8 v1, v0",
                           "ds_store_b16 v0, v1", "scratch_store_b32 v0, v1, off", "scratch_load_u16 v1, v0, off"})
    for (const Arch arch : {Arch::gfx1100, Arch::gfx1201})
      for (unsigned shift : {1U, 2U, 3U}) EXPECT_EQ(aligned(arch, text, 16, shift), "") << text;
}

TEST(Alignment, WideLdsAccessesNeedDwords) {
  for (const char* text : {"ds_write_b128 v0, v[4:7]", "ds_read_b96 v[4:6], v0"}) {
    EXPECT_EQ(aligned(Arch::gfx942, text, 16, 4), "") << text;
    for (unsigned shift : {1U, 2U, 3U}) {
      const std::string found = aligned(Arch::gfx942, text, 16, shift);
      EXPECT_EQ(found.find("misaligned access of "), 0U) << text << found;
      EXPECT_NE(found.find(", which needs a multiple of 4: "), std::string::npos) << found;
      EXPECT_NE(found.find(", lane 5"), std::string::npos) << found;
    }
  }
  const std::string lds = aligned(Arch::gfx1100, "ds_load_b128 v[4:7], v0 offset:32", 16, 2);
  EXPECT_EQ(lds.find("misaligned access of 16 bytes at LDS byte 114, which needs a multiple of 4: ds_load_b128"), 0U)
      << lds;
}

TEST(Alignment, Atomics) {
  EXPECT_EQ(aligned(Arch::gfx942, "ds_add_u64 v0, v[2:3]", 16, 8), "");
  EXPECT_EQ(aligned(Arch::gfx942, "ds_add_u64 v0, v[2:3]", 16, 4)
                .find("misaligned atomic of 8 bytes at LDS byte 84, which needs a multiple of 8"),
            0U);
  for (const char* text :
       {"ds_wrxchg2_rtn_b32 v[4:5], v0, v2, v3 offset1:64", "ds_wrxchg2st64_rtn_b32 v[4:5], v0, v2, v3"}) {
    EXPECT_EQ(aligned(Arch::gfx942, text, 16, 4), "") << text;
    EXPECT_EQ(aligned(Arch::gfx942, text, 16, 2)
                  .find("misaligned atomic of 4 bytes at LDS byte 82, which needs a multiple of 4: ds_wrxchg2"),
              0U)
        << text;
  }
  EXPECT_EQ(aligned(Arch::gfx1100, "ds_storexchg_2addr_rtn_b64 v[4:7], v0, v[8:9], v[10:11]", 16, 4)
                .find("misaligned atomic of 8 bytes at LDS byte 84, which needs a multiple of 8"),
            0U);
  // In global memory the machine itself refuses it.
  EXPECT_NE(aligned(Arch::gfx90a, "global_atomic_add v0, v2, s[2:3]", 16, 2).find("misaligned"), std::string::npos);
  EXPECT_EQ(aligned(Arch::gfx90a, "global_atomic_add v0, v2, s[2:3]", 16, 4), "");
}

TEST(Alignment, FormattedBuffers) {
  const char* text = "buffer_load_format_x v1, v0, s[4:7], 0 offen";
  EXPECT_EQ(aligned(Arch::gfx90a, text, 16, 0), "");
  EXPECT_EQ(aligned(Arch::gfx90a, text, 16, 2).find("misaligned access of 4 bytes"), 0U);
}

TEST(Alignment, Scalars) {
  EXPECT_EQ(aligned(Arch::gfx942, "s_load_dword s9, s[2:3], 8", 4, 0), "");
  EXPECT_EQ(aligned(Arch::gfx942, "s_load_dword s9, s[2:3], s8", 4, 4), "");
  EXPECT_EQ(aligned(Arch::gfx942, "s_load_dword s9, s[2:3], s8", 4, 2, 99)
                .find("misaligned scalar access: base + 0, "
                      "register offset 2, offset 0"),
            0U);
  EXPECT_EQ(aligned(Arch::gfx1201, "s_load_u8 s9, s[2:3], 0x3", 4, 0), "");
  EXPECT_EQ(aligned(Arch::gfx1201, "s_load_u16 s9, s[2:3], 0x3", 4, 0).find("misaligned scalar access"), 0U);
}

}  // namespace
}  // namespace rapt::sim::test
