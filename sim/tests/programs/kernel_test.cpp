// Whole kernels, compiled by stock clang, through loader, launch and interpreter, on every architecture.
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace rapt::sim::test {
namespace {

class OnEveryArch : public testing::TestWithParam<int> {
 protected:
  Arch arch() const { return static_cast<Arch>(GetParam()); }
};

TEST_P(OnEveryArch, AddsVectors) {
  const Module module(arch(), R"(
    extern "C" __global__ void add(const float* a, const float* b, float* c, uint n) {
      const uint i = BID * 256 + TID;
      if (i < n) c[i] = a[i] + b[i];
    })");
  const unsigned n = 1000;
  std::vector<float> a(n), b(n);
  for (unsigned i = 0; i < n; ++i) a[i] = float(i) * 0.25F, b[i] = 7.0F - float(i);
  const Buffer<float> da(a), db(b), dc(std::vector<float>(n + 1, -1.0F));
  module.launch("add", {4, 1, 1}, {256, 1, 1}, 0, da.data(), db.data(), dc.data(), n);
  for (unsigned i = 0; i < n; ++i) ASSERT_EQ(dc[i], a[i] + b[i]) << i;
  EXPECT_EQ(dc[n], -1.0F);
}

TEST_P(OnEveryArch, ReducesThroughLds) {
  const Module module(arch(), R"(
    extern "C" __global__ void reduce(const int* in, int* out) {
      __shared__ int part[256];
      part[TID] = in[BID * 256 + TID];
      SYNC();
      for (uint step = 128; step > 0; step /= 2) {
        if (TID < step) part[TID] += part[TID + step];
        SYNC();
      }
      if (TID == 0) out[BID] = part[0];
    })");
  std::vector<int> values(256 * 3);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * i % 1001) - 500;
  const Buffer<int> in(values), out(3);
  module.launch("reduce", {3, 1, 1}, {256, 1, 1}, 0, in.data(), out.data());
  for (int group = 0; group < 3; ++group)
    EXPECT_EQ(out[std::size_t(group)],
              std::accumulate(values.begin() + group * 256, values.begin() + group * 256 + 256, 0));
}

TEST_P(OnEveryArch, DividesLoopsAndUsesPrivateMemory) {
  const Module module(arch(), R"(
    extern "C" __global__ void mixed(const uint* in, float* quotients, uint* digits) {
      uint v = in[TID];
      quotients[TID] = 1.0f / (float)v + __builtin_sqrtf((float)v);
      uint local[10];
      for (int i = 0; i < 10; ++i) local[i] = 0;
      while (v) { local[v % 10]++; v /= 10; }
      for (int i = 0; i < 10; ++i) digits[TID * 10 + i] = local[i];
    })",
                      "-O1");
  const unsigned n = 100;
  std::vector<unsigned> values(n);
  for (unsigned i = 0; i < n; ++i) values[i] = i * 2654435761U | 1;
  const Buffer<unsigned> in(values), digits(n * 10);
  const Buffer<float> quotients(n);
  module.launch("mixed", {1, 1, 1}, {n, 1, 1}, 0, in.data(), quotients.data(), digits.data());
  for (unsigned i = 0; i < n; ++i) {
    const auto f = static_cast<float>(values[i]);
    EXPECT_EQ(quotients[i], 1.0F / f + std::sqrt(f)) << i;
    unsigned expected[10] = {};
    for (unsigned v = values[i]; v; v /= 10) ++expected[v % 10];
    for (unsigned d = 0; d < 10; ++d) EXPECT_EQ(digits[i * 10 + d], expected[d]) << i << ' ' << d;
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, OnEveryArch, testing::Range(0, arch_count),
                         [](const auto& p) { return std::string(name(static_cast<Arch>(p.param))); });

}  // namespace
}  // namespace rapt::sim::test
