// Common algorithms (kernels/algorithms.hip), on every architecture with each compiler that supports it. All results
// are exact: floating-point sums are of small integers.
#include "sim/tests/support/programs/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <tuple>

namespace rapt::sim::test {
namespace {

using Case = std::tuple<int, const char*>;

class Algorithms : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (arch() == Arch::gfx950 && compiler() == "clang-19") GTEST_SKIP() << "gfx950 is newer than clang-19";
  }
  Arch arch() const { return static_cast<Arch>(std::get<0>(GetParam())); }
  std::string compiler() const { return std::get<1>(GetParam()); }
  const Module& module() const {
    static std::map<std::string, std::unique_ptr<Module>> modules;
    auto& module = modules[std::string(name(arch())) + compiler()];
    if (!module) {
      std::ifstream file(RAPT_SIM_SOURCE_FOLDER "/tests/kernels/algorithms.hip");
      const std::string source{std::istreambuf_iterator<char>(file), {}};
      module = std::make_unique<Module>(arch(), source, "-O3", compiler());
    }
    return *module;
  }
  template <typename... A>
  void launch(const char* kernel, unsigned groups, const A&... arguments) const {
    module().launch(kernel, {groups, 1, 1}, {256, 1, 1}, 0, arguments...);
  }
  std::mt19937 random{5};
};

TEST_P(Algorithms, MultiplyMatrices) {
  const unsigned n = 48;
  std::vector<float> a(n * n), b(n * n);
  for (float& x : a) x = static_cast<float>(random() % 17) - 8;
  for (float& x : b) x = static_cast<float>(random() % 17) - 8;
  const Buffer<float> da(a), db(b), dc(n * n);
  launch("gemm", n * n / 256, da.data(), db.data(), dc.data(), n);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned j = 0; j < n; ++j) {
      float sum = 0;
      for (unsigned k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      ASSERT_EQ(dc[i * n + j], sum) << i << ' ' << j;
    }
}

TEST_P(Algorithms, MultiplyMatricesByMatrixInstructions) {
  if (arch() == Arch::gfx906) GTEST_SKIP() << "it has none";
  const unsigned n = 64, depth = 48, tile = is_cdna(arch()) ? 32 : 16, waves = is_cdna(arch()) ? 4 : 8;
  std::vector<_Float16> a(n * depth), b(n * depth);
  for (_Float16& x : a) x = static_cast<_Float16>(static_cast<int>(random() % 17) - 8);
  for (_Float16& x : b) x = static_cast<_Float16>(static_cast<int>(random() % 17) - 8);
  const Buffer<_Float16> da(a), db(b);
  const Buffer<float> dc(n * n);
  launch("matrix_gemm", (n / tile) * (n / tile) / waves, da.data(), db.data(), dc.data(), n, depth);
  for (unsigned i = 0; i < n; ++i)
    for (unsigned j = 0; j < n; ++j) {
      float sum = 0;
      for (unsigned k = 0; k < depth; ++k)
        sum += static_cast<float>(a[i * depth + k]) * static_cast<float>(b[j * depth + k]);
      ASSERT_EQ(dc[i * n + j], sum) << i << ' ' << j;
    }
}

TEST_P(Algorithms, SumAcrossWorkgroups) {
  const unsigned n = 5000, groups = 7;
  std::vector<double> in(n);
  for (double& x : in) x = static_cast<double>(random() % 100000) - 50000;
  const Buffer<double> din(in), partial(groups), out(1);
  const Buffer<unsigned> ticket(std::vector<unsigned>{0});
  launch("sum", groups, din.data(), partial.data(), out.data(), ticket.data(), n, groups);
  EXPECT_EQ(out[0], std::accumulate(in.begin(), in.end(), 0.0));
}

TEST_P(Algorithms, ScanAcrossWorkgroups) {
  const unsigned n = 2500, groups = 10;
  std::vector<unsigned> in(n), expected(n);
  for (unsigned& x : in) x = static_cast<unsigned>(random());
  std::partial_sum(in.begin(), in.end(), expected.begin());
  const Buffer<unsigned> din(in), out(n);
  const Buffer<std::uint64_t> totals(std::vector<std::uint64_t>(groups, 0));
  launch("scan", groups, din.data(), out.data(), totals.data(), n);
  for (unsigned i = 0; i < n; ++i) ASSERT_EQ(out[i], expected[i]) << i;
}

TEST_P(Algorithms, SortByBitonicNetwork) {
  std::vector<int> keys(1024);
  for (int& key : keys) key = static_cast<int>(random() % 2000) - 1000;
  const Buffer<int> device(keys);
  launch("bitonic_sort", 2, device.data());
  std::sort(keys.begin(), keys.begin() + 512);
  std::sort(keys.begin() + 512, keys.end());
  for (unsigned i = 0; i < 1024; ++i) ASSERT_EQ(device[i], keys[i]) << i;
}

TEST_P(Algorithms, SortByDigits) {
  std::vector<std::uint64_t> items(1024);  // key in the lower half, place in the upper one
  for (std::uint64_t i = 0; i < 1024; ++i) items[i] = i << 32 | (random() % 3 ? random() % 50 : random());
  const Buffer<std::uint64_t> device(items);
  launch("radix_sort", 1, device.data());
  std::stable_sort(items.begin(), items.end(), [](std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint32_t>(a) < static_cast<std::uint32_t>(b);
  });
  for (unsigned i = 0; i < 1024; ++i) ASSERT_EQ(device[i], items[i]) << i;
}

TEST_P(Algorithms, CountInLds) {
  const unsigned n = 4000, groups = 3;
  std::vector<std::uint8_t> in(n);
  std::vector<unsigned> expected(256);
  float weight = 0;
  for (std::uint8_t& x : in) {
    x = static_cast<std::uint8_t>(random() % 3 ? random() : 7);
    ++expected[x];
    weight += static_cast<float>(x & 7);
  }
  const Buffer<std::uint8_t> din(in);
  const Buffer<unsigned> out(std::vector<unsigned>(256, 0));
  const Buffer<float> weights(std::vector<float>{0});
  launch("histogram", groups, din.data(), out.data(), weights.data(), n, groups);
  for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(out[i], expected[i]) << i;
  EXPECT_EQ(weights[0], weight);
}

TEST_P(Algorithms, ShareTasksInAQueue) {
  const unsigned roots = 20;
  std::vector<unsigned> slots(2000, 0), state{0, roots, roots, 0};
  unsigned total = 0;
  for (unsigned i = 0; i < roots; ++i) total += slots[i] = 1 + random() % 40;
  const Buffer<unsigned> dstate(state), dslots(slots);
  launch("queue", 3, dstate.data(), dslots.data());
  EXPECT_EQ(dstate[3], total);
  EXPECT_EQ(dstate[2], 0U);
  EXPECT_EQ(dstate[0], dstate[1]);
  EXPECT_EQ(dstate[1], 2 * total - roots);  // a tree of v leaves has 2v - 1 nodes
}

INSTANTIATE_TEST_SUITE_P(Each, Algorithms,
                         testing::Combine(testing::Range(0, arch_count), testing::Values("clang-19", "clang-22")),
                         [](const auto& info) {
                           return std::string(name(static_cast<Arch>(std::get<0>(info.param)))) + "_clang" +
                                  (std::get<1>(info.param) + 6);
                         });

}  // namespace
}  // namespace rapt::sim::test
