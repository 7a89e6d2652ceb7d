// Source lines: DWARF of both versions from clang, by hand, and broken.
#include "sim/loader/code_object.hpp"
#include "sim/profile/line_table.hpp"
#include "sim/profile/profiler.hpp"
#include "sim/profile/report.hpp"
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

namespace rapt::sim::test {
namespace {

// Lines count from the prelude's first; #line makes them the test's own.
const std::string source = R"(#line 100 "kernel.hip"
extern "C" __global__ void work(float* out, int n) {
  float x = out[TID];
  for (int i = 0; i < n; ++i)
    x = __builtin_amdgcn_exp2f(x);
  x = __builtin_amdgcn_sqrtf(x);
  out[TID] = x;
})";

KernelReport profiled(Arch arch, const std::string& flags) {
  Module module(arch, source, flags);
  const Buffer<float> out(64);
  Profiler profiler;
  module.profile(profiler).launch("work", {1, 1, 1}, {64, 1, 1}, 0, out.data(), 10);
  return analyse(profiler.kernels().at(0));
}

std::uint64_t transcendental(const KernelReport& report, std::uint32_t line) {
  std::uint64_t count = 0;
  for (const LineReport& l : report.lines)
    if (l.source.line == line && l.source.file.ends_with("kernel.hip"))
      count += l.totals.classes[static_cast<unsigned>(InstructionClass::transcendental)];
  return count;
}

class Dwarf : public testing::TestWithParam<const char*> {};

TEST_P(Dwarf, LinesOfCompiledCode) {
  for (const Arch arch : {Arch::gfx90a, Arch::gfx942, Arch::gfx1201}) {
    const KernelReport report = profiled(arch, std::string("-O2 -fno-unroll-loops ") + GetParam());
    const unsigned waves = is_cdna(arch) ? 1 : 2;
    EXPECT_EQ(report.note, "");
    EXPECT_EQ(transcendental(report, 103), 10U * waves) << name(arch);
    EXPECT_EQ(transcendental(report, 104), waves) << name(arch);
    std::uint64_t all = 0;
    for (const LineReport& l : report.lines) all += l.totals.instructions;
    EXPECT_EQ(all, report.totals.instructions);
    ASSERT_EQ(report.loops.size(), 1U);
    EXPECT_EQ(report.loops[0].iterations, 10U * waves);
    EXPECT_EQ(report.loops[0].entries, waves);
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, Dwarf, testing::Values("-gdwarf-4", "-gdwarf-5", "-gline-tables-only"));

TEST(Lines, NoneWithoutDebugInformation) {
  const KernelReport report = profiled(Arch::gfx942, "-O2");
  EXPECT_TRUE(report.lines.empty());
  EXPECT_EQ(report.note, "");
  EXPECT_FALSE(report.blocks.empty());
}

// The lines of llvm-dwarfdump for the same file.
TEST(Lines, AsLlvmReadsThem) {
  for (const char* flags : {"-O2 -gdwarf-4", "-O2 -gdwarf-5"}) {
    const auto file = compile(Arch::gfx942, source, flags);
    const LineTable table = LineTable::of_file(file);
    const std::string path = temporary_folder() + "/lines.co";
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));
    std::istringstream rows(shell("llvm-dwarfdump-22 --debug-line " + path));
    unsigned compared = 0;
    std::uint64_t before = 0;
    std::uint32_t line_before = 0;
    for (std::string row; std::getline(rows, row);) {
      std::istringstream fields(row);
      std::string address;
      std::uint32_t line = 0;
      if (!(fields >> address >> line) || !address.starts_with("0x") || address.size() != 18) continue;
      const std::uint64_t at = std::stoull(address, nullptr, 16);
      if (before != 0 && at > before) {  // the previous row is valid up to here
        const SourceLine* found = table.find(before);
        EXPECT_EQ(found ? found->line : 0, line_before) << address;
        ++compared;
      }
      before = at, line_before = line;
    }
    EXPECT_GT(compared, 8U);
    EXPECT_EQ(table.find(0), nullptr);
    EXPECT_EQ(table.find(~std::uint64_t{0}), nullptr);
  }
}

using Bytes8 = std::vector<std::uint8_t>;

LineTable read(const Bytes8& bytes) { return {std::as_bytes(std::span(bytes)), {}, {}}; }

// A version 4 unit: two directories, two files, and this program.
Bytes8 unit(const Bytes8& program, std::uint8_t line_range = 14, std::uint16_t version = 4) {
  const Bytes8 rest{1,   1, 1, 0xfb, line_range, 13,  0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1,  // line base -5
                    'd', 0, 0,                                                             // directory 1
                    'a', 0, 0, 0,    0,          'b', 0, 1, 0, 0, 0};                      // a, d/b
  Bytes8 all(10);
  const auto put = [&all](std::size_t at, std::uint32_t value) {
    for (unsigned n = 0; n < 4; ++n) all[at + n] = static_cast<std::uint8_t>(value >> 8 * n);
  };
  all.insert(all.end(), rest.begin(), rest.end());
  all.insert(all.end(), program.begin(), program.end());
  put(0, static_cast<std::uint32_t>(all.size() - 4));
  all[4] = static_cast<std::uint8_t>(version), all[5] = static_cast<std::uint8_t>(version >> 8);
  put(6, static_cast<std::uint32_t>(rest.size()));
  return all;
}

Bytes8 set_address(std::uint8_t low) { return {0, 9, 2, low, 0x10, 0, 0, 0, 0, 0, 0}; }

Bytes8 operator+(Bytes8 a, const Bytes8& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Lines, OfAProgramByHand) {
  // 0x1000 line 11 of a; 0x1004 line 13 of d/b; 0x1014 none (line 0); ends at 0x1018.
  const LineTable table =
      read(unit(set_address(0) + Bytes8{3, 10, 1,               // advance_line 10, copy
                                        4, 2, 13 + 4 * 14 + 7,  // set_file 2; special: 4 on, line + 2
                                        2, 16, 3, 0x73, 1,      // advance_pc 16, advance_line -13, copy
                                        2, 4, 0, 1, 1}));       // advance_pc 4, end_sequence
  ASSERT_NE(table.find(0x1003), nullptr);
  EXPECT_EQ(table.find(0x1003)->line, 11U);
  EXPECT_EQ(table.files()[table.find(0x1000)->file], "a");
  EXPECT_EQ(table.find(0x1013)->line, 13U);
  EXPECT_EQ(table.files()[table.find(0x1004)->file], "d/b");
  EXPECT_EQ(table.find(0x1014), nullptr);
  EXPECT_EQ(table.find(0x1018), nullptr);
  EXPECT_EQ(table.find(0xfff), nullptr);
}

TEST(Lines, BrokenTablesAreRefused) {
  const Bytes8 good = unit(set_address(0) + Bytes8{3, 10, 1, 2, 4, 0, 1, 1});
  EXPECT_NE(read(good).find(0x1000), nullptr);
  EXPECT_THROW(read(unit({}, 0)), LoadError);             // a range of no lines
  EXPECT_THROW(read(unit({}, 14, 3)), LoadError);         // an older version
  EXPECT_THROW(read(unit({}, 14, 6)), LoadError);         // a newer one
  EXPECT_THROW(read(unit({0, 200, 2})), LoadError);       // an operation longer than the program
  EXPECT_THROW(read(unit({2, 0x80, 0x80})), LoadError);   // a number without an end
  EXPECT_THROW(read(unit({0, 0})), LoadError);            // an extended operation without a code
  for (std::size_t size = 1; size < good.size(); ++size)  // truncated anywhere
    EXPECT_THROW(read({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}), LoadError) << size;
  EXPECT_TRUE(read({}).empty());
  // A header that says it is longer than the unit, and one that counts 2^60 entries of no columns.
  Bytes8 long_header = good;
  long_header[9] = 0xff;
  EXPECT_THROW(read(long_header), LoadError);
  Bytes8 many{0, 0,    0,  0, 5, 0,    8,    0,    40,   0,    0,    0,    1,   1,
              1, 0xfb, 14, 1, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f};
  many[0] = static_cast<std::uint8_t>(many.size() - 4);
  EXPECT_THROW(read(many), LoadError);
}

// Any damage gives a table or a LoadError.
TEST(Lines, DamagedFilesDoNotCrash) {
  std::mt19937 random(7);
  for (const char* flags : {"-O1 -gdwarf-4", "-O1 -gdwarf-5"}) {
    const auto good = compile(Arch::gfx942, source, flags);
    unsigned refused = 0;
    for (int n = 0; n < 3000; ++n) {
      auto file = good;
      const unsigned changes = 1 + random() % 40;
      // The file's second half: debug sections and section headers.
      for (unsigned c = 0; c < changes; ++c)
        file[file.size() / 2 + random() % (file.size() / 2)] = static_cast<std::byte>(random());
      if (n % 4 == 0) file.resize(random() % file.size());
      try {
        const LineTable table = LineTable::of_file(file);
        for (std::uint64_t address = 0; address < 0x4000; address += 64) {
          if (const SourceLine* line = table.find(address)) {
            EXPECT_LT(line->file, table.files().size());
          }
        }
      } catch (const LoadError&) {
        ++refused;
      }
    }
    EXPECT_GT(refused, 100U);
  }
}

TEST(Lines, OfABrokenTableTheReportSaysWhy) {
  auto file = compile(Arch::gfx942, source, "-O2 -gdwarf-4");
  Module module(Arch::gfx942, file);
  const Buffer<float> out(64);
  Profiler profiler;
  module.profile(profiler).launch("work", {1, 1, 1}, {64, 1, 1}, 0, out.data(), 10);
  KernelProfile kernel = profiler.kernels().at(0);
  CodeCopy code = *kernel.code;
  code.file.resize(code.file.size() / 2);
  kernel.code = std::make_shared<const CodeCopy>(code);
  const KernelReport report = analyse(kernel);
  EXPECT_TRUE(report.lines.empty());
  EXPECT_NE(report.note.find("debug information is broken"), std::string::npos);
}

}  // namespace
}  // namespace rapt::sim::test
