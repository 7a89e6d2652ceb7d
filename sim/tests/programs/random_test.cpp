// Random programs, built for host and device from one source, write the same bytes: each architecture, optimisation
// level and compiler has separate programs. The command sim_random runs more of them, or reruns one.
#include "sim/tests/random/programs.hpp"
#include "sim/tests/support/sampling.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

namespace rapt::sim::random {
namespace {

using Case = std::tuple<int, char, const char*>;

std::string title(const testing::TestParamInfo<Case>& info) {
  const auto& [arch, level, compiler] = info.param;
  return std::string(name(static_cast<Arch>(arch))) + "_O" + level + "_clang" + (compiler + 6);
}

class RandomPrograms : public testing::TestWithParam<Case> {};

TEST_P(RandomPrograms, WriteWhatTheyWriteOnTheHost) {
  const auto& [arch, level, compiler] = GetParam();
  const Target target{static_cast<Arch>(arch), level, compiler};
  if (!knows(compiler, target.arch)) GTEST_SKIP() << compiler << " has no such target";
  const unsigned compiler_number = std::string_view(compiler) == "clang-22" ? 1 : 0;
  const std::uint64_t seed =
      100 + static_cast<unsigned>(arch) * 8U + static_cast<unsigned>(level - '0') * 2U + compiler_number;
  constexpr unsigned programs = 3;
  for (const std::string& text : differences(Expected({seed, programs}, compiler), target)) ADD_FAILURE() << text;
}

// Each compiler at each level for each architecture; an ordinary run takes each compiler at one level, another one
// for the next architecture.
std::vector<Case> cases() {
  std::vector<Case> list;
  for (int arch = 0; arch < arch_count; ++arch)
    for (unsigned n = 0; n < 6; ++n)
      if (test::taken(n + static_cast<unsigned>(arch), 3))
        list.emplace_back(arch, "013"[n / 2], n % 2 == 0 ? "clang-19" : "clang-22");
  return list;
}

INSTANTIATE_TEST_SUITE_P(Each, RandomPrograms, testing::ValuesIn(cases()), title);

// The programs contain what they should test; otherwise agreement would mean little.
TEST(RandomPrograms, AreOneForEachSeedAndUseEverything) {
  const Programs programs{7, 50};
  const std::string text = source(programs);
  EXPECT_EQ(text, source(programs));
  EXPECT_NE(text, source({8, 50}));
  for (const char* part : {"_deep(",
                           "_table[",
                           "switch (",
                           "while (",
                           "continue;",
                           "break;",
                           "return;",
                           "struct k",
                           "thread.shared->words[",
                           "atomic_add(",
                           "atomic_swap_mul(",
                           "f16 ",
                           "bf16 ",
                           "f64 ",
                           "u8x4 ",
                           "f32x4 ",
                           "store(",
                           "load<",
                           "quotient(",
                           "ffma(",
                           "froot(",
                           "fdiv(",
                           "to_int<i64>(",
                           "to_float<f16>("})
    EXPECT_NE(text.find(part, text.find("TABLE u8 const")), std::string::npos) << part;
}

// A program is the same alone and among others.
TEST(RandomPrograms, CanBeRunAlone) {
  const Expected all({7, 4}, "clang-22"), alone({7, 4, 2}, "clang-22");
  EXPECT_EQ(all.result(2).out, alone.result(0).out);
  EXPECT_EQ(all.result(2).totals, alone.result(0).totals);
  EXPECT_NE(all.result(2).out, all.result(1).out);
}

}  // namespace
}  // namespace rapt::sim::random
