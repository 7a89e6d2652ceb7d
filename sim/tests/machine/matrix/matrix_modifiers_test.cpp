// What changes the operands of matrix instructions: register files, constants, signedness, halves, clamping, flushing,
// sparse indices, EXEC. mfma_modifiers_test.cpp and wmma_modifiers_test.cpp test each modifier of each instruction.
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/matrix_product.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>

namespace rapt::sim::test {
namespace {

std::uint32_t bits_of(float v) { return std::bit_cast<std::uint32_t>(v); }
float float_of(std::uint64_t v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v)); }

// Small integers that differ from place to place, in every type.
int a_value(unsigned block, unsigned i, unsigned k) { return static_cast<int>((3 * block + i + 2 * k) % 4); }
int b_value(unsigned block, unsigned k, unsigned j) { return static_cast<int>((block + 2 * j + k * j) % 4); }

void fill(MatrixProduct& p) {
  const MatrixName& m = p.name();
  for (unsigned block = 0; block < m.blocks; ++block) {
    for (unsigned i = 0; i < m.m; ++i)
      for (unsigned k = 0; k < (m.sparse ? m.k / 2 : m.k); ++k)
        p.set_a(block, i, k, encode_small(m.a, m.arch, a_value(block, i, k)));
    for (unsigned k = 0; k < m.k; ++k)
      for (unsigned j = 0; j < m.n; ++j) p.set_b(block, k, j, encode_small(m.b, m.arch, b_value(block, k, j)));
    for (unsigned i = 0; i < m.m; ++i)
      for (unsigned j = 0; j < m.n; ++j) p.set_c(block, i, j, 0);
  }
}

using Expected = std::function<int(unsigned, unsigned, unsigned)>;
void check(MatrixProduct& p, const Expected& expected) {
  const MatrixName& m = p.name();
  for (unsigned block = 0; block < m.blocks; ++block)
    for (unsigned i = 0; i < m.m; ++i)
      for (unsigned j = 0; j < m.n; ++j)
        ASSERT_EQ(value_of(m.d, m.arch, p.d(block, i, j)), expected(block, i, j))
            << m.name << " D[" << block << "][" << i << "][" << j << "]";
}

int product(const MatrixName& m, unsigned a_block, unsigned b_block, unsigned i, unsigned j) {
  int sum = 0;
  for (unsigned k = 0; k < m.k; ++k) sum += a_value(a_block, i, k) * b_value(b_block, k, j);
  return sum;
}

TEST(MatrixModifiers, exec_is_ignored) {
  for (const Arch arch : {Arch::gfx942, Arch::gfx1100, Arch::gfx1201}) {
    const bool mfma = arch == Arch::gfx942;
    MatrixProduct p(
        parse_matrix_name(mfma ? "v_mfma_f32_16x16x16_f16" : "v_wmma_f32_16x16x16_f16", arch, mfma ? 64 : 32));
    fill(p);
    p.wave().wave().set_pair(sreg::exec, 0);
    p.run();
    check(p, [&](unsigned b, unsigned i, unsigned j) { return product(p.name(), b, b, i, j); });
  }
}

TEST(MatrixModifiers, operands_in_accumulation_registers) {
  MatrixProduct p(parse_matrix_name("v_mfma_f32_32x32x8_f16", Arch::gfx942, 64));
  fill(p);
  OneWave& w = p.wave();
  for (unsigned r = 0; r < 2; ++r)
    for (unsigned l = 0; l < 64; ++l) {
      w.a(40 + r, l) = std::exchange(w.v(r, l), 0x7e007e00);
      w.a(50 + r, l) = std::exchange(w.v(16 + r, l), 0x7e007e00);
    }
  for (unsigned r = 0; r < 16; ++r) {
    std::fill_n(&w.a(r), 64, bits_of(5));
    std::fill_n(&w.v(64 + r), 64, 0xdeadbeef);
  }
  p.instruction.src[0] = agprs(40);
  p.instruction.src[1] = agprs(50);
  p.instruction.src[2] = p.instruction.dst = agprs(0);
  p.run();
  for (unsigned i = 0; i < 32; ++i)
    for (unsigned j = 0; j < 32; ++j) {
      const Place at = place_d(p.name(), 0, i, j);
      ASSERT_EQ(float_of(w.a(at.bit / 32, at.lane)), 5 + product(p.name(), 0, 0, i, j));
      ASSERT_EQ(w.v(64 + at.bit / 32, at.lane), 0xdeadbeef);
    }
}

TEST(MatrixModifiers, constants_as_c) {
  for (const char* name : {"v_mfma_f32_32x32x8_f16", "v_mfma_f32_4x4x4_16b_f16", "v_mfma_f32_32x32x4_2b_f16"}) {
    MatrixProduct p(parse_matrix_name(name, Arch::gfx942, 64));
    fill(p);
    p.instruction.src[2] = constant(bits_of(-4));
    p.run();
    check(p, [&](unsigned b, unsigned i, unsigned j) { return product(p.name(), b, b, i, j) - 4; });
  }
  MatrixProduct integers(parse_matrix_name("v_mfma_i32_16x16x32_i8", Arch::gfx942, 64));
  fill(integers);
  integers.instruction.src[2] = constant(0xfffffff0);
  integers.run();
  check(integers, [&](unsigned b, unsigned i, unsigned j) { return product(integers.name(), b, b, i, j) - 16; });
  // The decoder gives the constants of all operands as f32, of f64 and of 16 bits too.
  MatrixProduct doubles(parse_matrix_name("v_mfma_f64_16x16x4_f64", Arch::gfx942, 64));
  fill(doubles);
  doubles.instruction.src[2] = constant(0x40800000);
  doubles.run();
  check(doubles, [&](unsigned b, unsigned i, unsigned j) { return product(doubles.name(), b, b, i, j) + 4; });
  for (const char* name : {"v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"}) {
    MatrixProduct p(parse_matrix_name(name, Arch::gfx1201, 32));
    fill(p);
    p.instruction.src[2] = constant(0xc0000000);
    p.run();
    check(p, [&](unsigned b, unsigned i, unsigned j) { return product(p.name(), b, b, i, j) - 2; });
  }
}

TEST(MatrixModifiers, c_and_d_may_overlap_in_part) {
  MatrixProduct p(parse_matrix_name("v_mfma_f32_32x32x8_f16", Arch::gfx942, 64));
  fill(p);
  p.c_register = p.d_register + 4;
  p.instruction.src[2] = vgprs(p.c_register);
  for (unsigned i = 0; i < 32; ++i)
    for (unsigned j = 0; j < 32; ++j) p.set_c(0, i, j, bits_of(static_cast<float>(i * 32 + j)));
  p.run();
  check(p, [&](unsigned b, unsigned i, unsigned j) {
    return product(p.name(), b, b, i, j) + static_cast<int>(i * 32 + j);
  });
}

TEST(MatrixModifiers, neg_says_which_integers_are_signed) {
  for (const Arch arch : {Arch::gfx1100, Arch::gfx1201})
    for (const char* name : {"v_wmma_i32_16x16x16_iu8", "v_wmma_i32_16x16x16_iu4"})
      for (unsigned neg = 0; neg < 4; ++neg) {
        MatrixProduct p(parse_matrix_name(name, arch, 32));
        const unsigned top = type_bits(p.name().a) == 8 ? 255 : 15;
        for (unsigned i = 0; i < 16; ++i)
          for (unsigned k = 0; k < 16; ++k) {
            p.set_a(0, i, k, top - i);
            p.set_b(0, k, i, top - 2 * (i % 4));
          }
        p.instruction.neg = static_cast<std::uint8_t>(neg);
        p.run();
        const auto as = [&](int v, bool is_signed) {
          return is_signed && v > static_cast<int>(top / 2) ? v - static_cast<int>(top) - 1 : v;
        };
        check(p, [&](unsigned, unsigned i, unsigned j) {
          return 16 * as(static_cast<int>(top - i), (neg & 1) != 0) *
                 as(static_cast<int>(top - 2 * (j % 4)), (neg & 2) != 0);
        });
      }
}

TEST(MatrixModifiers, integers_wrap_or_saturate) {
  const auto run = [](const char* name, Arch arch, unsigned lanes, bool saturate, std::uint32_t c) {
    MatrixProduct p(parse_matrix_name(name, arch, lanes));
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned k = 0; k < p.name().k; ++k) {
        p.set_a(0, i, k, 100);
        p.set_b(0, k, i, i % 2 == 0 ? 100 : 0x9c);
      }
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned j = 0; j < 16; ++j) p.set_c(0, i, j, c);
    p.instruction.neg = 3;
    if (is_rdna(arch)) p.instruction.clamp = saturate;
    else if (saturate) p.wave().wave().mode |= mode::fp16_ovfl;
    p.run();
    return std::pair{static_cast<std::uint32_t>(p.d(0, 3, 4)), static_cast<std::uint32_t>(p.d(0, 3, 5))};
  };
  for (const bool rdna : {true, false}) {
    const char* name = rdna ? "v_wmma_i32_16x16x16_iu8" : "v_mfma_i32_16x16x32_i8";
    const Arch arch = rdna ? Arch::gfx1201 : Arch::gfx942;
    const unsigned lanes = rdna ? 32 : 64, sum = 10000 * (rdna ? 16 : 32);
    EXPECT_EQ(run(name, arch, lanes, false, 0x7ffffff0).first, 0x7ffffff0 + sum);
    EXPECT_EQ(run(name, arch, lanes, true, 0x7ffffff0).first, 0x7fffffffU);
    EXPECT_EQ(run(name, arch, lanes, false, 0x80000010).second, 0x80000010 - sum);
    EXPECT_EQ(run(name, arch, lanes, true, 0x80000010).second, 0x80000000U);
  }
}

TEST(MatrixModifiers, overflow_mode_keeps_the_largest_float) {
  for (const bool saturate : {false, true}) {
    MatrixProduct p(parse_matrix_name("v_mfma_f32_16x16x4_f32", Arch::gfx942, 64));
    for (unsigned i = 0; i < 16; ++i) {
      p.set_a(0, i, 0, bits_of(0x1p100F));
      p.set_b(0, 0, i, bits_of(i % 2 == 0 ? 0x1p100F : -0x1p100F));
    }
    if (saturate) p.wave().wave().mode |= mode::fp16_ovfl;
    p.run();
    const float top = saturate ? std::numeric_limits<float>::max() : HUGE_VALF;
    EXPECT_EQ(float_of(p.d(0, 1, 2)), top);
    EXPECT_EQ(float_of(p.d(0, 1, 3)), -top);
  }
}

TEST(MatrixModifiers, op_sel_names_the_half_of_16_bit_results_on_gfx11) {
  for (const char* name : {"v_wmma_f16_16x16x16_f16", "v_wmma_bf16_16x16x16_bf16"})
    for (const unsigned lanes : {32U, 64U})
      for (const bool high : {false, true}) {
        MatrixProduct p(parse_matrix_name(name, Arch::gfx1100, lanes));
        fill(p);
        OneWave& w = p.wave();
        for (unsigned r = 0; r < 8; ++r) {
          const auto one = static_cast<std::uint32_t>(encode_small(p.name().d, Arch::gfx1100, 1));
          w.fill(p.c_register + r, high ? one << 16 | 0x1234 : one | 0x12340000);
          w.fill(p.d_register + r, 0xabcdabcd);
        }
        p.instruction.op_sel = high ? 4 : 0;
        p.run();
        for (unsigned i = 0; i < 16; ++i)
          for (unsigned j = 0; j < 16; ++j) {
            const Place at = place_d(p.name(), 0, i, j);
            const std::uint32_t word = w.v(p.d_register + at.bit / 32, at.lane);
            EXPECT_EQ(value_of(p.name().d, Arch::gfx1100, high ? word >> 16 : word & 0xffff),
                      product(p.name(), 0, 0, i, j) + 1);
            EXPECT_EQ(high ? word & 0xffff : word >> 16, 0xabcdU);
          }
      }
}

TEST(MatrixModifiers, denormals_of_halves) {
  // 2^-24 * 1 + 0, and a C that is denormal.
  const auto run = [](Arch arch, const char* name, std::uint32_t c) {
    MatrixProduct p(parse_matrix_name(name, arch, 64));
    p.set_a(0, 0, 0, 1);
    p.set_b(0, 0, 0, encode_small(p.name().b, arch, 1));
    p.set_c(0, 0, 0, c);
    p.run();
    return static_cast<std::uint32_t>(p.d(0, 0, 0));
  };
  EXPECT_EQ(run(Arch::gfx908, "v_mfma_f32_16x16x16f16", 0), bits_of(0x1p-24F));
  EXPECT_EQ(run(Arch::gfx90a, "v_mfma_f32_16x16x16f16", 0), 0U);
  EXPECT_EQ(run(Arch::gfx942, "v_mfma_f32_16x16x16_f16", 0), bits_of(0x1p-24F));
  EXPECT_EQ(run(Arch::gfx908, "v_mfma_f32_16x16x8bf16", 3), 0x00010003U);
  EXPECT_EQ(run(Arch::gfx90a, "v_mfma_f32_16x16x16bf16_1k", 3), 0U);
  EXPECT_EQ(run(Arch::gfx942, "v_mfma_f32_16x16x16_bf16", 0), 0x00010000U);
}

TEST(MatrixModifiers, denormals_of_f32_go_by_the_mode) {
  const auto run = [](Arch arch, bool keep, std::uint32_t a, std::uint32_t c) {
    MatrixProduct p(
        parse_matrix_name(arch == Arch::gfx90a ? "v_mfma_f32_16x16x4f32" : "v_mfma_f32_16x16x4_f32", arch, 64));
    p.set_a(0, 0, 0, a);
    p.set_b(0, 0, 0, bits_of(1));
    p.set_c(0, 0, 0, c);
    if (!keep) p.wave().wave().mode &= ~mode::denorm_f32;
    p.run();
    return static_cast<std::uint32_t>(p.d(0, 0, 0));
  };
  EXPECT_EQ(run(Arch::gfx942, true, 5, 2), 7U);
  EXPECT_EQ(run(Arch::gfx942, false, 5, 2), 2U);  // C and D are kept
  EXPECT_EQ(run(Arch::gfx90a, true, 5, 2), 7U);
  EXPECT_EQ(run(Arch::gfx90a, false, 5, 2), 0U);
}

TEST(MatrixModifiers, infinities_and_nans) {
  struct Form {
    Arch arch;
    const char* name;
    unsigned lanes;
  };
  for (const Form f :
       {Form{Arch::gfx908, "v_mfma_f32_16x16x16f16", 64}, Form{Arch::gfx90a, "v_mfma_f32_16x16x16f16", 64},
        Form{Arch::gfx942, "v_mfma_f32_16x16x16_f16", 64}, Form{Arch::gfx1100, "v_wmma_f32_16x16x16_f16", 32},
        Form{Arch::gfx1201, "v_wmma_f32_16x16x16_f16", 32}}) {
    MatrixProduct p(parse_matrix_name(f.name, f.arch, f.lanes));
    fill(p);
    p.set_a(0, 2, 3, 0x7c00);  // infinity in a row, times 0, 1, -1
    p.set_b(0, 3, 0, 0);
    p.set_b(0, 3, 1, 0x3c00);
    p.set_b(0, 3, 2, 0xbc00);
    p.set_a(0, 4, 3, 0x7e00);
    p.set_c(0, 5, 5, bits_of(HUGE_VALF));
    p.run();
    EXPECT_TRUE(std::isnan(float_of(p.d(0, 2, 0)))) << f.name;
    EXPECT_EQ(float_of(p.d(0, 2, 1)), HUGE_VALF);
    EXPECT_EQ(float_of(p.d(0, 2, 2)), -HUGE_VALF);
    EXPECT_TRUE(std::isnan(float_of(p.d(0, 4, 1))));
    EXPECT_EQ(float_of(p.d(0, 5, 5)), HUGE_VALF);
    EXPECT_TRUE(std::isfinite(float_of(p.d(0, 5, 6))));
  }
}

TEST(MatrixModifiers, negative_zeros_are_kept) {
  MatrixProduct p(parse_matrix_name("v_mfma_f32_16x16x4_f32", Arch::gfx942, 64));
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned k = 0; k < 4; ++k) {
      p.set_a(0, i, k, bits_of(-0.0F));
      p.set_b(0, k, i, bits_of(i % 2 == 0 ? 5.0F : -5.0F));
    }
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) p.set_c(0, i, j, bits_of(-0.0F));
  p.run();
  EXPECT_EQ(p.d(0, 1, 2), bits_of(-0.0F));
  EXPECT_EQ(p.d(0, 1, 3), bits_of(0.0F));
}

// Each of the six pairs of indices, in the set that abid (index_key) names.
TEST(MatrixModifiers, sparse_indices) {
  struct Form {
    Arch arch;
    const char* name;
    unsigned lanes, sets;
  };
  constexpr unsigned pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
  for (const Form f :
       {Form{Arch::gfx942, "v_smfmac_f32_16x16x32_f16", 64, 4}, Form{Arch::gfx942, "v_smfmac_f32_32x32x16_bf16", 64, 4},
        Form{Arch::gfx942, "v_smfmac_i32_16x16x64_i8", 64, 2},
        Form{Arch::gfx950, "v_smfmac_f32_32x32x64_fp8_bf8", 64, 1},
        Form{Arch::gfx950, "v_smfmac_f32_16x16x64_f16", 64, 2}, Form{Arch::gfx1201, "v_swmmac_f32_16x16x32_f16", 32, 2},
        Form{Arch::gfx1201, "v_swmmac_f32_16x16x32_fp8_fp8", 64, 4},
        Form{Arch::gfx1201, "v_swmmac_i32_16x16x64_iu4", 32, 1},
        Form{Arch::gfx1201, "v_swmmac_i32_16x16x32_iu4", 64, 2}})
    for (unsigned set = 0; set < f.sets; ++set) {
      MatrixProduct p(parse_matrix_name(f.name, f.arch, f.lanes));
      fill(p);
      const MatrixName& m = p.name();
      OneWave& w = p.wave();
      w.fill(p.index_register, 0);
      const auto pair_of = [](unsigned i, unsigned k) { return (i + k / 2) % 6; };
      for (unsigned i = 0; i < m.m; ++i)
        for (unsigned k = 0; k < m.k / 2; ++k) {
          const Place at = place_a(m, 0, i, k)[0];
          const unsigned element = at.bit / type_bits(m.a);
          put(w, p.index_register, {32 / f.sets * set + 2 * element, at.lane}, 2, pairs[pair_of(i, k)][k % 2]);
        }
      (is_rdna(f.arch) ? p.instruction.op_sel : p.instruction.abid) = static_cast<std::uint8_t>(set);
      p.run();
      check(p, [&](unsigned b, unsigned i, unsigned j) {
        int sum = 0;
        for (unsigned k = 0; k < m.k / 2; ++k)
          sum += a_value(b, i, k) * b_value(b, k / 2 * 4 + pairs[pair_of(i, k)][k % 2], j);
        return sum;
      });
    }
}

TEST(MatrixModifiers, cbsz_of_sparse_products_takes_the_first_set) {
  MatrixProduct p(parse_matrix_name("v_smfmac_f32_16x16x32_f16", Arch::gfx942, 64));
  fill(p);
  p.wave().fill(p.index_register, 0xeeeeee99);  // (1, 2) in the first set, (2, 3) in the others
  p.instruction.cbsz = 1;
  p.instruction.abid = 2;
  p.run();
  check(p, [&](unsigned b, unsigned i, unsigned j) {
    int sum = 0;
    for (unsigned k = 0; k < 16; ++k) sum += a_value(b, i, k) * b_value(b, k / 2 * 4 + 1 + k % 2, j);
    return sum;
  });
}

// Each half of the wave computes its rows from its own copies.
TEST(MatrixModifiers, unequal_copies_stay_in_their_half) {
  MatrixProduct p(parse_matrix_name("v_wmma_f32_16x16x16_f16", Arch::gfx1100, 32));
  fill(p);
  for (unsigned r = 0; r < 8; ++r)
    for (unsigned l = 16; l < 32; ++l) p.wave().v(p.a_register + r, l) = 0;
  p.run();
  check(p, [&](unsigned b, unsigned i, unsigned j) { return i % 2 == 0 ? product(p.name(), b, b, i, j) : 0; });
}

}  // namespace
}  // namespace rapt::sim::test
