// Every matrix layout in both directions: a single element of A (of B) selects a row (a column) of the other matrix. An
// ordinary run has every fifth element.
#include "sim/tests/support/matrix_reference.hpp"
#include "sim/tests/support/sampling.hpp"

#include <gtest/gtest.h>

namespace rapt::sim::test {
namespace {

constexpr unsigned base_a = 0, base_b = 16, base_c = 32, base_d = 64, base_index = 100;

struct Case {
  Arch arch;
  unsigned lanes;
};

constexpr std::size_t every = 5;  // no divisor of a matrix's size: all rows, columns and k have their turn

class Layout : public testing::TestWithParam<Case> {};

Operand vgprs(unsigned index) {
  Operand o;
  o.kind = OperandKind::vgpr;
  o.index = static_cast<std::uint16_t>(index);
  return o;
}

// Sparse: pairs of indices (1, 2), so stored k is 4 * (k / 2) + 1 + k % 2.
unsigned full_k(const MatrixName& m, unsigned k) { return m.sparse ? 4 * (k / 2) + 1 + k % 2 : k; }

int value_of(unsigned block, unsigned k, unsigned side) {
  return static_cast<int>((block + k * 5 + side * 3 + k * side) % 4);
}

std::uint64_t result_bits(const MatrixName& m, int value) {
  return m.d == "i32" ? static_cast<std::uint32_t>(value) : encode_small(m.d, m.arch, value);
}

class Product {
 public:
  explicit Product(const MatrixName& m)
      : m_(m), w_(m.arch, m.lanes), handler_(tested_handler(m.name, m.arch, m.lanes)) {
    i_.dst = vgprs(base_d);
    i_.src[0] = vgprs(base_a);
    i_.src[1] = vgprs(base_b);
    i_.src[2] = vgprs(m.sparse ? base_index : base_c);
    for (unsigned r = base_index; r < base_index + 1; ++r) w_.fill(r, 0x99999999);
  }
  bool known() const { return handler_ != nullptr; }
  void set_a(unsigned block, unsigned i, unsigned k, int value) {
    for (const Place p : place_a(m_, block, i, k))
      put(w_, base_a, p, type_bits(m_.a), encode_small(m_.a, m_.arch, value));
  }
  void set_b(unsigned block, unsigned k, unsigned j, int value) {
    for (const Place p : place_b(m_, block, k, j))
      put(w_, base_b, p, type_bits(m_.b), encode_small(m_.b, m_.arch, value));
  }
  void run() {
    for (unsigned r = base_d; r < base_d + 32; ++r) w_.fill(r, 0);
    handler_(w_.wave(), i_);
  }
  // Whether D is as expected.
  template <class F>
  testing::AssertionResult check(F expected) {
    for (unsigned b = 0; b < m_.blocks; ++b)
      for (unsigned i = 0; i < m_.m; ++i)
        for (unsigned j = 0; j < m_.n; ++j) {
          const std::uint64_t got = get(w_, base_d, place_d(m_, b, i, j), type_bits(m_.d));
          if (got != result_bits(m_, expected(b, i, j)))
            return testing::AssertionFailure() << m_.name << ": D[" << b << "][" << i << "][" << j << "] = " << std::hex
                                               << got << ", not " << result_bits(m_, expected(b, i, j));
        }
    return testing::AssertionSuccess();
  }

 private:
  MatrixName m_;
  OneWave w_;
  Handler handler_;
  Instruction i_;
};

TEST_P(Layout, one_element_of_a) {
  for (const MatrixName& m : matrix_names(GetParam().arch, GetParam().lanes)) {
    Product p(m);
    ASSERT_TRUE(p.known()) << m.name;
    const unsigned steps = m.sparse ? m.k / 2 : m.k;
    std::size_t number = 0;
    for (unsigned b = 0; b < m.blocks; ++b)
      for (unsigned k = 0; k < m.k; ++k)
        for (unsigned j = 0; j < m.n; ++j) p.set_b(b, k, j, value_of(b, k, j));
    for (unsigned b = 0; b < m.blocks; ++b)
      for (unsigned i = 0; i < m.m; i += m.m == 32 ? 3 : 1)
        for (unsigned k = 0; k < steps; ++k) {
          if (!taken(number++, every)) continue;
          p.set_a(b, i, k, 1);
          p.run();
          ASSERT_TRUE(p.check([&](unsigned block, unsigned row, unsigned column) {
            return block == b && row == i ? value_of(b, full_k(m, k), column) : 0;
          })) << "A["
              << b << "][" << i << "][" << k << "]";
          p.set_a(b, i, k, 0);
        }
  }
}

TEST_P(Layout, one_element_of_b) {
  for (const MatrixName& m : matrix_names(GetParam().arch, GetParam().lanes)) {
    Product p(m);
    ASSERT_TRUE(p.known()) << m.name;
    const unsigned steps = m.sparse ? m.k / 2 : m.k;
    std::size_t number = 0;
    for (unsigned b = 0; b < m.blocks; ++b)
      for (unsigned k = 0; k < steps; ++k)
        for (unsigned i = 0; i < m.m; ++i) p.set_a(b, i, k, value_of(b, k, i));
    for (unsigned b = 0; b < m.blocks; ++b)
      for (unsigned k = 0; k < m.k; ++k)
        for (unsigned j = 0; j < m.n; j += m.n == 32 ? 3 : 1) {
          if (!taken(number++, every)) continue;
          p.set_b(b, k, j, 1);
          p.run();
          ASSERT_TRUE(p.check([&](unsigned block, unsigned row, unsigned column) {
            if (block != b || column != j) return 0;
            if (!m.sparse) return value_of(b, k, row);
            return k % 4 == 1 || k % 4 == 2 ? value_of(b, k / 4 * 2 + k % 4 - 1, row) : 0;
          })) << "B["
              << b << "][" << k << "][" << j << "]";
          p.set_b(b, k, j, 0);
        }
  }
}

INSTANTIATE_TEST_SUITE_P(Architectures, Layout,
                         testing::Values(Case{Arch::gfx908, 64}, Case{Arch::gfx90a, 64}, Case{Arch::gfx942, 64},
                                         Case{Arch::gfx950, 64}, Case{Arch::gfx1100, 32}, Case{Arch::gfx1100, 64},
                                         Case{Arch::gfx1151, 32}, Case{Arch::gfx1201, 32}, Case{Arch::gfx1201, 64}),
                         [](const auto& info) {
                           return std::string(name(info.param.arch)) + "_" + std::to_string(info.param.lanes);
                         });

}  // namespace
}  // namespace rapt::sim::test
