// Random matrices against sums in double, for every matrix instruction; integers exactly.
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/matrix_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rapt::sim::test {
namespace {

struct Case {
  Arch arch;
  unsigned lanes;
};
class Values : public testing::TestWithParam<Case> {};

std::uint64_t random_bits(const std::string& type, Arch arch, std::mt19937& random) {
  std::normal_distribution<float> normal;
  if (type == "f64") return std::bit_cast<std::uint64_t>(static_cast<double>(normal(random)));
  if (type == "f32" || type == "xf32") return std::bit_cast<std::uint32_t>(normal(random));
  if (type == "bf16") return std::bit_cast<std::uint32_t>(normal(random)) >> 16;
  if (type == "i32") return random();
  if (type[0] == 'i') return random() & ((1U << type_bits(type)) - 1);
  const double smallest = arch == Arch::gfx90a ? 0x1p-14 : 0;  // which flushes denormals of f16
  for (;;) {                                                   // any finite one
    const std::uint32_t bits = random() & ((1U << type_bits(type)) - 1);
    const double v = value_of(type, arch, bits);
    if (std::isfinite(v) && std::fabs(v) < 100 && std::fabs(v) >= smallest) return bits;
  }
}

void check(const MatrixName& m, std::mt19937& random) {
  MatrixProduct p(m);
  const unsigned steps = m.sparse ? m.k / 2 : m.k;
  std::vector<double> a(m.blocks * m.m * steps), b(m.blocks * m.k * m.n), c(m.blocks * m.m * m.n);
  const auto fill = [&](std::vector<double>& to, std::size_t at, const std::string& type) {
    const std::uint64_t bits = random_bits(type, m.arch, random);
    to[at] = value_of(type, m.arch, bits);
    return bits;
  };
  for (unsigned block = 0; block < m.blocks; ++block) {
    for (unsigned i = 0; i < m.m; ++i)
      for (unsigned k = 0; k < steps; ++k) p.set_a(block, i, k, fill(a, (block * m.m + i) * steps + k, m.a));
    for (unsigned k = 0; k < m.k; ++k)
      for (unsigned j = 0; j < m.n; ++j) p.set_b(block, k, j, fill(b, (block * m.k + k) * m.n + j, m.b));
    for (unsigned i = 0; i < m.m; ++i)
      for (unsigned j = 0; j < m.n; ++j) p.set_c(block, i, j, fill(c, (block * m.m + i) * m.n + j, m.d));
  }
  p.run();
  for (unsigned block = 0; block < m.blocks; ++block)
    for (unsigned i = 0; i < m.m; ++i)
      for (unsigned j = 0; j < m.n; ++j) {
        double sum = c[(block * m.m + i) * m.n + j], size = std::fabs(sum);
        for (unsigned k = 0; k < steps; ++k) {
          const unsigned at = m.sparse ? 4 * (k / 2) + 1 + k % 2 : k;
          const double product = a[(block * m.m + i) * steps + k] * b[(block * m.k + at) * m.n + j];
          sum += product;
          size += std::fabs(product);
        }
        const double got = value_of(m.d, m.arch, p.d(block, i, j));
        if (m.d == "i32") {
          ASSERT_EQ(static_cast<std::uint32_t>(p.d(block, i, j)),
                    static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)))
              << m.name;
        } else {
          const double precision = m.d == "f64" ? 1e-15 : m.d == "f32" ? 1e-6 : m.d == "f16" ? 1e-3 : 8e-3;
          ASSERT_NEAR(got, sum, size * precision) << m.name << " D[" << block << "][" << i << "][" << j << "]";
        }
      }
}

TEST_P(Values, agree_with_double) {
  std::mt19937 random(1);
  for (const MatrixName& m : matrix_names(GetParam().arch, GetParam().lanes))
    for (int repeat = 0; repeat < 2; ++repeat) check(m, random);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Values,
                         testing::Values(Case{Arch::gfx908, 64}, Case{Arch::gfx90a, 64}, Case{Arch::gfx942, 64},
                                         Case{Arch::gfx950, 64}, Case{Arch::gfx1100, 32}, Case{Arch::gfx1100, 64},
                                         Case{Arch::gfx1201, 32}, Case{Arch::gfx1201, 64}),
                         [](const auto& info) {
                           return std::string(name(info.param.arch)) + "_" + std::to_string(info.param.lanes);
                         });

}  // namespace
}  // namespace rapt::sim::test
