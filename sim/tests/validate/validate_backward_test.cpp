// AMD's backward attention: what its launch passes, and the reference, beside finite differences. With
// RAPT_AITER_OBJECTS, a checkout of ROCm/aiter, each kernel runs a small problem, whose results must be right.
#include "sim/validate/check.hpp"
#include "sim/validate/families/attention_backward.hpp"
#include "sim/validate/input/input_error.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

namespace rapt::sim::validate {
namespace {

std::string symbol(const std::string& name) { return "_ZN5aiter" + std::to_string(name.size()) + name + "E"; }

PreparedLaunch prepare(const std::string& name, const std::string& shape) {
  return family_of(symbol(name)).prepare({Arch::gfx942, 304, symbol(name)}, Shape(shape));
}

TEST(AttentionBackward, PassesWhatTheLauncherPasses) {
  const auto launch =
      prepare("fmha_bwd_hd128_bf16_causal_a32_rtne", "batch=2 heads=8 heads_k=8 seqlen=600 head_dim=128 causal=1");
  ASSERT_EQ(launch.arguments.bytes().size(), 704U);
  EXPECT_EQ(launch.groups, (std::array<std::uint32_t, 3>{2, 8, 2})) << "a workgroup takes two tiles of 192 keys";
  const std::uint32_t row = 2048, batch = 600 * row,
                      expected[] = {600, 192 * row, 256, batch, row, 1, 256, batch, row, row, 600, 128, 128, 8};
  for (std::size_t n = 0; n < std::size(expected); ++n) {
    std::uint32_t value = 0;
    std::memcpy(&value, &launch.arguments.bytes()[16 * (11 + n)], sizeof value);
    EXPECT_EQ(value, expected[n]) << n;
  }
}

TEST(AttentionBackward, RefusesOtherProblems) {
  const std::string name = "fmha_bwd_hd128_bf16_a32_rtz";
  EXPECT_THROW(prepare(name, "batch=1 heads=8 heads_k=2 seqlen=64 head_dim=128 causal=0"), InputError);
  EXPECT_THROW(prepare(name, "batch=1 heads=8 heads_k=8 seqlen=64 head_dim=64 causal=0"), InputError);
  EXPECT_THROW(prepare(name, "batch=1 heads=8 heads_k=8 seqlen=64 head_dim=128 causal=1"), InputError);
  EXPECT_THROW(family_of(symbol("fmha_bwd_hd128_bf16_a16_rtz")), InputError);
}

// q, k, v and dout of three tokens, one head and one dimension.
using Inputs = std::array<std::array<double, 3>, 4>;

// The sum of dout * out, whose derivatives are the gradients.
double loss(const Inputs& x) {
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    double divisor = 0, out = 0;
    for (std::size_t key = 0; key <= i; ++key) {
      const double p = std::exp(x[0][i] * x[1][key]);
      divisor += p;
      out += p * x[2][key];
    }
    sum += x[3][i] * out / divisor;
  }
  return sum;
}

TEST(AttentionBackward, ComparesWithTheDerivatives) {
  const Inputs x = {{{0.5, -1.25, 0.75}, {1, 0.25, -0.5}, {2, -1, 0.5}, {1, 0.5, -2}}};
  const auto derivative = [&](std::size_t operand, std::size_t token) {
    Inputs above = x, below = x;
    above[operand][token] += 1e-5;
    below[operand][token] -= 1e-5;
    return (loss(above) - loss(below)) / 2e-5;
  };
  const AttentionSize size{1, 1, 1, 3, 1, 1, true};
  const auto compare = [&](double change) {
    const auto input = [&](std::size_t operand) { return [&, operand](std::size_t n) { return x[operand][n]; }; };
    return compare_gradients(size,
                             {input(0), input(1), input(2), input(3), [&](std::size_t n) { return derivative(1, n); },
                              [&](std::size_t n) { return derivative(2, n) + (n == 2 ? change : 0); },
                              [&](std::size_t token, std::size_t, std::size_t) { return derivative(0, token); }},
                             0x1p-12);
  };
  EXPECT_EQ(compare(0).compared, 9U);
  EXPECT_EQ(compare(0).wrong, 0U) << compare(0).first_wrong;
  EXPECT_EQ(compare(0.01).wrong, 1U);
  EXPECT_EQ(compare(0.01).first_wrong.substr(0, 8), "dv[2, 0]");
}

TEST(AttentionBackward, KernelsComputeWhatTheyShould) {
  const char* folder = std::getenv("RAPT_AITER_OBJECTS");
  if (!folder || !*folder) GTEST_SKIP() << "RAPT_AITER_OBJECTS is not set to a checkout of ROCm/aiter";
  Objects objects(folder);
  for (const std::string rounding : {"rtne", "rtna", "rtz"})
    for (const bool causal : {false, true}) {
      const std::string file = std::string("bwd_hd128_bf16") + (causal ? "_causal" : "") + "_a32_" + rounding;
      const std::string shape =
          "batch=1 heads=8 heads_k=8 seqlen=1024 head_dim=128 causal=" + std::string(causal ? "1" : "0");
      const Check result = check(objects, {1, Arch::gfx942, 304, "fmha-bwd", symbol("fmha_" + file), shape, 1,
                                           "hsa/gfx942/fmha_v3_bwd/" + file + ".co"});
      EXPECT_TRUE(result.good()) << file << ": " << result.failure << result.result.first_wrong;
    }
}

}  // namespace
}  // namespace rapt::sim::validate
