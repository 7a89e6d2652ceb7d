// Flash attention with matrix instructions, compiled by stock clang, compared with float64.
#include "sim/tests/support/programs/attention.hpp"

#include <gtest/gtest.h>

#include <tuple>

namespace rapt::sim::test {
namespace {

class AttentionOn : public testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(AttentionOn, MatchesFloat64) {
  const auto arch = static_cast<Arch>(std::get<0>(GetParam()));
  const std::string compiler = std::get<1>(GetParam());
  if (arch == Arch::gfx950 && compiler == "clang-19") GTEST_SKIP() << "gfx950 is newer than clang-19";
  Attention attention(arch, 256, 2, 1, "-O3", compiler);
  attention.run();
  const auto [out, lse] = attention.error();
  EXPECT_LT(out, 0.01);  // P and the output are truncated to bf16
  EXPECT_LT(lse, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Each, AttentionOn,
                         testing::Combine(testing::Range(0, arch_count), testing::Values("clang-19", "clang-22")),
                         [](const auto& p) {
                           return std::string(name(static_cast<Arch>(std::get<0>(p.param)))) + "_clang" +
                                  (std::get<1>(p.param) + 6);
                         });

}  // namespace
}  // namespace rapt::sim::test
