// Scalar operations on EXEC, with an immediate, or that change a part of their destination (CDNA3 ISA 12.1 to 12.5,
// RDNA3.5 ISA 16.1 to 16.5, RDNA4 ISA 16.1 to 16.5).
#include "sim/tests/support/memory_wave.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 edges[] = {0,          1,          0x7fffffff,         0x80000000,         0xffffffff,
                         0xdeadbeef, 0x0000ff80, 0x123456789abcdef0, 0x8000000000000000, 0xffffffffffffffff};

std::string registers(unsigned first, unsigned bits) {
  return bits == 64 ? "s[" + std::to_string(first) + ":" + std::to_string(first + 1) + "]"
                    : "s" + std::to_string(first);
}

// D = EXEC, EXEC = op(source, EXEC), SCC = EXEC is not 0; in the ..._wrexec forms D is the new EXEC.
TEST(ScalarExec, SavesAndWrites) {
  struct Form {
    ArchSet archs;
    const char* name;
    u64 (*f)(u64 s, u64 exec);
    bool gives_new;
  };
  static const Form forms[] = {
      {every_arch, "s_and_saveexec", [](u64 s, u64 e) { return s & e; }, false},
      {every_arch, "s_or_saveexec", [](u64 s, u64 e) { return s | e; }, false},
      {every_arch, "s_xor_saveexec", [](u64 s, u64 e) { return s ^ e; }, false},
      {every_arch, "s_nand_saveexec", [](u64 s, u64 e) { return ~(s & e); }, false},
      {every_arch, "s_nor_saveexec", [](u64 s, u64 e) { return ~(s | e); }, false},
      {every_arch, "s_xnor_saveexec", [](u64 s, u64 e) { return ~(s ^ e); }, false},
      {cdna, "s_andn1_saveexec", [](u64 s, u64 e) { return ~s & e; }, false},
      {cdna, "s_andn2_saveexec", [](u64 s, u64 e) { return s & ~e; }, false},
      {cdna, "s_orn1_saveexec", [](u64 s, u64 e) { return ~s | e; }, false},
      {cdna, "s_orn2_saveexec", [](u64 s, u64 e) { return s | ~e; }, false},
      {cdna, "s_andn1_wrexec", [](u64 s, u64 e) { return ~s & e; }, true},
      {cdna, "s_andn2_wrexec", [](u64 s, u64 e) { return s & ~e; }, true},
      {rdna, "s_and_not0_saveexec", [](u64 s, u64 e) { return ~s & e; }, false},
      {rdna, "s_and_not1_saveexec", [](u64 s, u64 e) { return s & ~e; }, false},
      {rdna, "s_or_not0_saveexec", [](u64 s, u64 e) { return ~s | e; }, false},
      {rdna, "s_or_not1_saveexec", [](u64 s, u64 e) { return s | ~e; }, false},
      {rdna, "s_and_not0_wrexec", [](u64 s, u64 e) { return ~s & e; }, true},
      {rdna, "s_and_not1_wrexec", [](u64 s, u64 e) { return s & ~e; }, true},
  };
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    const auto arch = static_cast<Arch>(n);
    for (const unsigned bits : {32U, 64U}) {
      if (bits == 32 && is_cdna(arch)) continue;
      MemoryWave wave({arch, bits});
      const auto line_of = [bits](const Form& form) {
        return std::string(form.name) + "_b" + std::to_string(bits) + " " + registers(20, bits) + ", " +
               registers(4, bits);
      };
      std::vector<std::string> lines;
      for (const Form& form : forms)
        if (contains(form.archs, arch)) lines.push_back(line_of(form));
      wave.prepare(lines);
      const u64 all = wave.wave().all_lanes();
      for (const Form& form : forms) {
        if (!contains(form.archs, arch)) continue;
        const std::string line = line_of(form);
        SCOPED_TRACE(std::string(name(arch)) + " " + line);
        for (const u64 s : edges)
          for (const u64 exec : {u64{0}, ~u64{0}, u64{0xf0f0f0f012345678}}) {
            wave.wave().set_pair(4, s), wave.wave().set_pair(20, 0), wave.wave().set_pair(sreg::exec, exec & all);
            wave.go(line);
            const u64 now = form.f(s & all, exec & all) & all;
            ASSERT_EQ(wave.wave().exec(), now);
            ASSERT_EQ(wave.wave().pair(20), form.gives_new ? now : exec & all);
            ASSERT_EQ(wave.wave().scc, now != 0);
          }
      }
    }
  }
}

// Immediate forms, and operations that change a part of their destination.
TEST(ScalarExec, ImmediatesAndPartsOfTheDestination) {
  for (unsigned n = 0; n < static_cast<unsigned>(arch_count); ++n) {
    const auto arch = static_cast<Arch>(n);
    SCOPED_TRACE(name(arch));
    OneWave wave(arch);
    const auto after = [&](const std::string& line, u32 before, bool scc) {
      wave.s(20) = before, wave.s(21) = 0, wave.wave().scc = scc;
      wave.run(line);
      return wave.s(20);
    };
    const auto scc = [&] { return wave.wave().scc; };
    EXPECT_EQ(after("s_movk_i32 s20, 0x8001", 5, true), 0xffff8001U);
    EXPECT_EQ(after("s_cmovk_i32 s20, 0x7fff", 5, false), 5U);
    EXPECT_EQ(after("s_cmovk_i32 s20, 0x7fff", 5, true), 0x7fffU);
    EXPECT_EQ(after("s_addk_i32 s20, 0xffff", 0x80000000, false), 0x7fffffffU);
    EXPECT_TRUE(scc()) << "signed overflow";
    EXPECT_EQ(after("s_addk_i32 s20, 0xffff", 1, true), 0U);
    EXPECT_FALSE(scc());
    EXPECT_EQ(after("s_mulk_i32 s20, 0xfffe", 7, true), 0xfffffff2U);
    EXPECT_TRUE(scc()) << "as it was";
    wave.s(4) = 37, wave.s(5) = 0;
    EXPECT_EQ(after("s_bitset1_b32 s20, s4", 1, false), 1U | 1U << 5);
    EXPECT_EQ(after("s_bitset0_b32 s20, s4", 0xffffffff, false), ~(1U << 5));
    wave.s(20) = 0, wave.s(21) = 0;
    wave.run("s_bitset1_b64 s[20:21], s4");
    EXPECT_EQ(wave.wave().pair(20), u64{1} << 37);
    wave.wave().set_pair(20, ~u64{0});
    wave.run("s_bitset0_b64 s[20:21], s4");
    EXPECT_EQ(wave.wave().pair(20), ~(u64{1} << 37));
    EXPECT_EQ(after("s_cmov_b32 s20, s4", 9, false), 9U);
    EXPECT_EQ(after("s_cmov_b32 s20, s4", 9, true), 37U);
    wave.s(5) = 38;
    EXPECT_EQ(after("s_cmov_b64 s[20:21], s[4:5]", 9, false), 9U);
    EXPECT_EQ(wave.s(21), 0U);
    EXPECT_EQ(after("s_cmov_b64 s[20:21], s[4:5]", 9, true), 37U);
    EXPECT_EQ(wave.s(21), 38U);
    if (contains(gfx12, arch)) continue;  // which has no s_cmpk
    struct Compare {
      const char* name;
      bool with_signs, less, equal, greater;
    };
    for (const Compare& c :
         {Compare{"eq_i32", true, false, true, false}, Compare{"lg_i32", true, true, false, true},
          Compare{"gt_i32", true, false, false, true}, Compare{"ge_i32", true, false, true, true},
          Compare{"lt_i32", true, true, false, false}, Compare{"le_i32", true, true, true, false},
          Compare{"eq_u32", false, false, true, false}, Compare{"lg_u32", false, true, false, true},
          Compare{"gt_u32", false, false, false, true}, Compare{"ge_u32", false, false, true, true},
          Compare{"lt_u32", false, true, false, false}, Compare{"le_u32", false, true, true, false}}) {
      const u32 limit = c.with_signs ? 0xffff8000 : 0x8000;
      after(std::string("s_cmpk_") + c.name + " s20, 0x8000", limit, false);
      EXPECT_EQ(scc(), c.equal) << c.name;
      after(std::string("s_cmpk_") + c.name + " s20, 0x8000", limit - 1, false);
      EXPECT_EQ(scc(), c.less) << c.name;
      after(std::string("s_cmpk_") + c.name + " s20, 0x8000", limit + 1, true);
      EXPECT_EQ(scc(), c.greater) << c.name;
    }
  }
}

}  // namespace
}  // namespace rapt::sim::test
