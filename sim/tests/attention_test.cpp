// Flash attention by matrix instructions, from stock clang, against float64.
#include "sim/tests/support/attention.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

class AttentionOn : public testing::TestWithParam<int> {};

TEST_P(AttentionOn, MatchesFloat64) {
  Attention attention(static_cast<Arch>(GetParam()), 256, 2);
  attention.run();
  const auto [out, lse] = attention.error();
  EXPECT_LT(out, 0.01);  // P and the output are truncated to bf16
  EXPECT_LT(lse, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Architectures, AttentionOn, testing::Range(0, arch_count),
                         [](const auto& p) { return std::string(name(static_cast<Arch>(p.param))); });

}  // namespace
}  // namespace rapt::sim::test
