// The C++ header as a user writes with it: values, optional parts, exceptions.
#include <gtest/gtest.h>

#include <cmath>
#include <unordered_set>
#include <vector>

#include "rapt/rapt.hpp"

namespace {

constexpr int64_t kRows = 3, kDim = 4;

std::vector<float> ramp(float step) {
  std::vector<float> values(kRows * kDim);
  for (size_t i = 0; i < values.size(); ++i) values[i] = step * static_cast<float>(i);
  return values;
}

rapt::Tensor tensor(std::vector<float>& values) { return {values.data(), rapt::kFp32, {1, kRows, 1, kDim}}; }

TEST(CppApi, ForwardAndBackwardOfOneHead) {
  std::vector<float> q = ramp(0.1f), k = ramp(-0.05f), v = ramp(1), out(q.size()), lse(kRows), dout = ramp(0.3f),
                     dv(q.size());
  rapt::Attention attention{.q = tensor(q), .k = tensor(k), .v = tensor(v)};
  attention.causal = RAPT_CAUSAL;
  const rapt::Tensor lse_tensor(lse.data(), rapt::kFp32, {1, 1, kRows});
  rapt::forward(attention, tensor(out), lse_tensor);
  for (int64_t x = 0; x < kDim; ++x) EXPECT_EQ(out[x], v[x]) << "the first query sees only the first key";
  rapt::Execution math;
  math.backend = "math";
  std::vector<float> plain(q.size());
  rapt::forward(attention, tensor(plain), {}, math);
  for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], plain[i], 1e-5);

  rapt::backward(attention, tensor(out), lse_tensor, tensor(dout), {.dv = tensor(dv)});
  float of_dout = 0, of_dv = 0;  // every row of P sums to 1
  for (float x : dout) of_dout += x;
  for (float x : dv) of_dv += x;
  EXPECT_NEAR(of_dv, of_dout, 1e-4);
}

// A seed and an offset of 64 bits, by value and in memory, are the same numbers; the offset's high half enters the key.
TEST(CppApi, DropoutNumbers) {
  std::vector<float> q(8 * 4), v(8 * 4), out(8 * 4), other(8 * 4);
  for (size_t i = 0; i < q.size(); ++i) q[i] = v[i] = static_cast<float>(i % 7);
  const auto rows = [](std::vector<float>& data) { return rapt::Tensor(data.data(), rapt::kFp32, {1, 8, 1, 4}); };
  rapt::Attention attention{.q = rows(q), .k = rows(q), .v = rows(v)};
  const uint64_t seed = 0x123456789ABCDEF, offset = (uint64_t{5} << 32) + 9;
  attention.dropout = rapt::Dropout{0.5, seed, offset};
  rapt::forward(attention, rows(out));
  attention.dropout = rapt::Dropout{0.5, seed ^ (5 | static_cast<uint64_t>(5 * 0x9E3779B9u) << 32), 9};
  rapt::forward(attention, rows(other));
  EXPECT_EQ(out, other);
  uint64_t seed_in_memory = seed - 1, offset_in_memory = offset - 2;
  const rapt_dtype uint64 = {RAPT_UINT, 64, 1};
  attention.dropout =
      rapt::Dropout{0.5, 1, 2, rapt::Tensor(&seed_in_memory, uint64, {}), rapt::Tensor(&offset_in_memory, uint64, {1})};
  rapt::forward(attention, rows(other));
  EXPECT_EQ(out, other);
  attention.dropout = rapt::Dropout{0.5, seed, offset + (uint64_t{1} << 32)};
  rapt::forward(attention, rows(other));
  EXPECT_NE(out, other);
}

TEST(CppApi, ErrorsNameTheArgument) {
  std::vector<float> q = ramp(1), out(q.size());
  rapt::Attention attention{.q = tensor(q), .k = tensor(q), .v = tensor(q)};
  attention.softcap = NAN;
  try {
    rapt::forward(attention, tensor(out));
    FAIL() << "a NaN softcap was accepted";
  } catch (const rapt::Error& e) {
    EXPECT_EQ(e.status(), RAPT_INVALID_ARGUMENT);
    EXPECT_NE(std::string(e.what()).find("softcap"), std::string::npos) << e.what();
  }
  EXPECT_THROW(rapt::Tensor(q.data(), rapt::kFp32, {1, 2, 3}, {1, 2}), rapt::Error);
}

TEST(CppApi, TensorsFromCStructs) {
  std::vector<float> values = ramp(1);
  const int64_t shape[] = {1, 2, 1, 2}, strides[] = {0, kDim, 7, 1};
  rapt_tensor c = {values.data(), {RAPT_CPU, 0}, 4, rapt::kFp32, shape, strides, 2 * sizeof(float)};
  const rapt::Tensor tensor(c);
  const rapt_tensor again = tensor.c();
  EXPECT_EQ(again.data, &values[2]);
  EXPECT_EQ(again.byte_offset, 0u);
  EXPECT_EQ(std::vector(again.shape, again.shape + 4), std::vector(shape, shape + 4));
  EXPECT_EQ(std::vector(again.strides, again.strides + 4), std::vector(strides, strides + 4));
  c.strides = nullptr;
  const rapt::Tensor compact(c);
  EXPECT_EQ(compact.c().strides, nullptr);
  c.ndim = 5;
  EXPECT_THROW(rapt::Tensor{c}, rapt::Error);
}

TEST(CppApi, WorkspacePoolAndExplanation) {
  std::vector<float> q = ramp(1), out(q.size());
  const rapt::Attention attention{.q = tensor(q), .k = tensor(q), .v = tensor(q)};
  const rapt::Pool pool(2);
  rapt::Execution execution;
  execution.executor = pool.executor();
  EXPECT_GT(rapt::forward_workspace_size(attention, tensor(out), execution), 0u);
  const rapt::Explanation e = rapt::explain(attention, tensor(out), execution);
  EXPECT_EQ(e.problem, "b1 hq1 hk1 sq3 sk3 d4 fp32");
  int chosen = 0;
  for (const rapt::Candidate& c : e.candidates) {
    chosen += c.chosen;
    EXPECT_FALSE(c.reason.empty()) << c.backend;
  }
  EXPECT_EQ(chosen, 1);
}

TEST(CppApi, WorkspaceAndExplanationOfTheBackwardPass) {
  std::vector<float> q = ramp(0.1f), out(q.size()), lse(kRows), dq(q.size());
  const rapt::Attention attention{.q = tensor(q), .k = tensor(q), .v = tensor(q)};
  const rapt::Tensor lse_tensor(lse.data(), rapt::kFp32, {1, 1, kRows});
  rapt::Execution execution{.backend = "cpu"};
  const rapt::Explanation e = explain(attention, tensor(out), lse_tensor, tensor(out), {.dq = tensor(dq)}, execution);
  ASSERT_NE(e.chosen(), nullptr);
  EXPECT_EQ(e.chosen()->backend, "cpu");
  EXPECT_NE(e.chosen()->kernel.find("bwd"), std::string::npos) << e.chosen()->kernel;

  const size_t bytes =
      backward_workspace_size(attention, tensor(out), lse_tensor, tensor(out), {.dq = tensor(dq)}, execution);
  ASSERT_GT(bytes, 0u);
  std::vector<char> memory(bytes + 64);
  execution.workspace = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  execution.workspace_size = bytes - 1;
  EXPECT_THROW(rapt::backward(attention, tensor(out), lse_tensor, tensor(q), {.dq = tensor(dq)}, execution),
               rapt::Error);
  execution.workspace_size = bytes;
  rapt::backward(attention, tensor(out), lse_tensor, tensor(q), {.dq = tensor(dq)}, execution);
}

TEST(CppApi, ShapesAndStridesFromVectors) {
  std::vector<float> q = ramp(1), out(q.size()), again(q.size());
  const std::vector<int64_t> shape = {1, kRows, 1, kDim};
  rapt::forward({.q = tensor(q), .k = tensor(q), .v = tensor(q)}, tensor(out));
  const rapt::Tensor from_vectors(q.data(), rapt::kFp32, shape, std::vector<int64_t>{kRows * kDim, kDim, kDim, 1});
  rapt::forward({.q = from_vectors, .k = from_vectors, .v = from_vectors}, {again.data(), rapt::kFp32, shape});
  EXPECT_EQ(out, again);
  EXPECT_THROW(rapt::Tensor(q.data(), rapt::kFp32, std::vector<int64_t>(5, 1)), rapt::Error);
}

TEST(CppApi, TheBestAvailableTierIsTheOneChosen) {
  std::string best;
  for (const rapt::CpuTier& tier : rapt::cpu_tiers())
    if (tier.available && best.empty()) best = tier.name;
  const rapt::Explanation e =
      rapt::explain(rapt::Problem::parse("b1 hq1 hk1 sq8 sk8 d8 fp32"), RAPT_FORWARD, {.backend = "cpu"});
  ASSERT_NE(e.chosen(), nullptr);
  EXPECT_TRUE(e.chosen()->kernel.starts_with(best + ".")) << e.chosen()->kernel;
}

TEST(CppApi, ProblemsAreValues) {
  const std::string text = "b2 hq4 hk2 sq9 sk12 d16 bf16 causal varlen=9:3,2:12";
  rapt::Problem copy = rapt::Problem::parse("b1 hq1 hk1 sq1 sk1 d1 fp32");
  {
    const rapt::Problem problem = rapt::Problem::parse(text);
    EXPECT_FALSE(copy == problem);
    copy = problem;
    EXPECT_EQ(copy, problem);
  }
  EXPECT_EQ(copy.text(), text) << "a copy must outlive its original";
  EXPECT_EQ(rapt::explain(copy, RAPT_BACKWARD).problem, text);
  EXPECT_THROW(rapt::Problem::parse("b2 hq3"), rapt::Error);
  const std::unordered_set<rapt::Problem> set = {rapt::Problem::parse("b1 hq1 hk1 sq1 sk1 d1 fp32 alibi softcap=2"),
                                                 rapt::Problem::parse("b1 hq1 hk1 sq1 sk1 d1 fp32 softcap=2 alibi"),
                                                 rapt::Problem::parse("b1 hq1 hk1 sq1 sk1 d1 fp32 softcap=2")};
  EXPECT_EQ(set.size(), 2u);
}

}  // namespace
