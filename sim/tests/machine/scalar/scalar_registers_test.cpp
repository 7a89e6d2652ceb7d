// Hardware registers, scalar registers addressed through M0, and gfx9's index of VGPRs (CDNA3 ISA 3.11 and 12.5, RDNA3
// ISA 16.5, RDNA4 ISA 16.5).
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <typename F>
void on_every_target(F f) {
  for (const Target& target : every_target()) {
    SCOPED_TRACE(describe(target));
    MemoryWave wave(target);
    f(wave, target);
  }
}

TEST(ScalarRegisters, FieldsOfMode) {
  on_every_target([](MemoryWave& wave, Target) {
    struct Field {
      unsigned from, width;
    };
    std::vector<std::string> lines;
    const Field fields[] = {{0, 32}, {0, 4}, {4, 4}, {8, 1}, {31, 1}, {23, 9}, {0, 1}};
    const auto operand = [](Field f) {
      return "hwreg(HW_REG_MODE, " + std::to_string(f.from) + ", " + std::to_string(f.width) + ")";
    };
    for (const Field f : fields) {
      lines.push_back("s_getreg_b32 s20, " + operand(f));
      lines.push_back("s_setreg_b32 " + operand(f) + ", s4");
      lines.push_back("s_setreg_imm32_b32 " + operand(f) + ", 0x89abcdef");
    }
    wave.prepare(lines);
    for (std::size_t n = 0; n < std::size(fields); ++n) {
      const u64 mask = ((u64{1} << fields[n].width) - 1) << fields[n].from;
      for (const u32 before : {0x00000000U, 0xffffffffU, 0x5a5a1234U}) {
        wave.wave().mode = before;
        wave.go(lines[3 * n]);
        EXPECT_EQ(wave.s(20), (before & mask) >> fields[n].from) << lines[3 * n];
        wave.s(4) = 0x76543210;
        wave.go(lines[3 * n + 1]);
        EXPECT_EQ(wave.wave().mode, (before & ~mask) | (u64{0x76543210} << fields[n].from & mask)) << lines[3 * n + 1];
        wave.wave().mode = before;
        wave.go(lines[3 * n + 2]);
        EXPECT_EQ(wave.wave().mode, (before & ~mask) | (u64{0x89abcdef} << fields[n].from & mask)) << lines[3 * n + 2];
      }
    }
  });
}

// STATUS has SCC in bit 0, EXECZ in 9 and VCCZ in 10; gfx12 has SCC in bit 9 of STATE_PRIV.
TEST(ScalarRegisters, Status) {
  on_every_target([](MemoryWave& wave, Target target) {
    const bool twelve = contains(gfx12, target.arch);
    for (unsigned bits = 0; bits < 8; ++bits) {
      wave.wave().scc = bits & 1;
      wave.wave().set_pair(sreg::exec, bits & 2 ? 0 : 4);
      wave.wave().set_pair(sreg::vcc, bits & 4 ? 0 : 4);
      if (twelve) {
        wave.run("s_getreg_b32 s20, hwreg(HW_REG_STATE_PRIV, 9, 1)");
        EXPECT_EQ(wave.s(20), bits & 1);
      } else {
        wave.run("s_getreg_b32 s20, hwreg(HW_REG_STATUS)\ns_getreg_b32 s21, hwreg(HW_REG_STATUS, 9, 2)");
        EXPECT_EQ(wave.s(20) & 0x601, (bits & 1) | (bits & 2 ? 0x200 : 0) | (bits & 4 ? 0x400 : 0));
        EXPECT_EQ(wave.s(21), bits >> 1);
      }
    }
    if (twelve) return;
    wave.wave().trapsts = 0;
    wave.s(4) = 0x1ff;
    wave.run("s_setreg_b32 hwreg(HW_REG_TRAPSTS, 4, 3), s4\ns_getreg_b32 s20, hwreg(HW_REG_TRAPSTS)");
    EXPECT_EQ(wave.s(20), 0x70U);
  });
}

TEST(ScalarRegisters, UnknownOnesAreRefused) {
  on_every_target([](MemoryWave& wave, Target) {
    EXPECT_THROW(wave.run("s_getreg_b32 s20, hwreg(55)"), Fault);
    EXPECT_THROW(wave.run("s_setreg_b32 hwreg(55), s4"), Fault);
    EXPECT_THROW(wave.run("s_setreg_imm32_b32 hwreg(5), 1"), Fault) << "GPR_ALLOC can only be read";
  });
}

TEST(ScalarRegisters, MovedByM0) {
  on_every_target([](MemoryWave& wave, Target target) {
    const auto reset = [&](u32 m0) {
      for (u32 n = 0; n < 100; ++n) wave.s(n) = 0x100 + n;
      wave.s(sreg::m0) = m0;
    };
    const auto others_stay = [&](unsigned first, unsigned count) {
      for (u32 n = 0; n < 100; ++n)
        if (n < first || n >= first + count) {
          ASSERT_EQ(wave.s(n), 0x100 + n);
        }
    };
    reset(3), wave.run("s_movrels_b32 s20, s4");
    EXPECT_EQ(wave.s(20), 0x107U);
    others_stay(20, 1);
    reset(6), wave.run("s_movrels_b64 s[20:21], s[4:5]");
    EXPECT_EQ(wave.wave().pair(20), 0x10b0000010aU);
    others_stay(20, 2);
    reset(3), wave.run("s_movreld_b32 s20, s4");
    EXPECT_EQ(wave.s(23), 0x104U);
    others_stay(23, 1);
    reset(6), wave.run("s_movreld_b64 s[20:21], s[4:5]");
    EXPECT_EQ(wave.wave().pair(26), 0x10500000104U);
    others_stay(26, 2);
    reset(200);
    EXPECT_THROW(wave.run("s_movrels_b32 s20, s4"), Fault) << "past the registers";
    EXPECT_THROW(wave.run("s_movreld_b64 s[20:21], s[4:5]"), Fault);
    if (is_cdna(target.arch)) return;
    reset(3 | 7 << 16), wave.run("s_movrelsd_2_b32 s20, s4");
    EXPECT_EQ(wave.s(27), 0x107U);
    others_stay(27, 1);
  });
}

// M0[7:0] is the index, M0[15:12] says which operands it moves.
TEST(ScalarRegisters, IndexOfVgprs) {
  for (const Arch arch : {Arch::gfx906, Arch::gfx908, Arch::gfx90a, Arch::gfx942, Arch::gfx950}) {
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    wave.s(sreg::m0) = 0xabcdef12, wave.s(4) = 0x12345678;
    wave.wave().mode = 0x3f0;
    wave.run("s_set_gpr_idx_idx s4");
    EXPECT_EQ(wave.s(sreg::m0), 0xabcdef78U);
    EXPECT_EQ(wave.wave().mode, 0x3f0U);
    wave.run("s_set_gpr_idx_mode gpr_idx(SRC1,DST)");
    EXPECT_EQ(wave.s(sreg::m0), 0xabcdaf78U);
    wave.s(4) = 0x99;
    wave.run("s_set_gpr_idx_on s4, gpr_idx(SRC0,SRC2)");
    EXPECT_EQ(wave.s(sreg::m0), 0xabcd5f99U);
    EXPECT_EQ(wave.wave().mode, 0x3f0U | 1U << 27);
    wave.run("s_set_gpr_idx_off");
    EXPECT_EQ(wave.wave().mode, 0x3f0U);
  }
}

}  // namespace
}  // namespace rapt::sim::test
