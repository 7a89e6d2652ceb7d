// The sums of matrix products bit by bit. Measured sums are compared with models in exact integers, written from the
// description in arXiv 2511.10909v2; the default sums are fused multiply-adds in the order of k.
#include "sim/machine/matrix/tile.hpp"
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/matrix_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace rapt::sim::test {
namespace {

__extension__ typedef __int128 Wide;

float as_float(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

// v * 2^exponent, rounded to nearest even.
float rounded(Wide v, int exponent) {
  const bool negative = v < 0;
  unsigned __int128 size = negative ? -static_cast<unsigned __int128>(v) : static_cast<unsigned __int128>(v);
  if (size == 0) return 0;
  bool lost = false;
  while (size >> 60 != 0) lost |= (size & 1) != 0, size >>= 1, ++exponent;
  // A float's last bit: for the value's leading one, or for denormals.
  int leading = exponent - 1;
  for (auto s = size; s != 0; s >>= 1) ++leading;
  const int last = std::max(leading - 23, -149);
  while (exponent < last) {
    const bool half = (size & 1) != 0;
    size >>= 1;
    ++exponent;
    if (exponent == last) {
      if (half && (lost || (size & 1) != 0)) ++size;
    } else {
      lost |= half;
    }
  }
  const double result = std::ldexp(static_cast<double>(size), exponent);
  return static_cast<float>(negative ? -result : result);
}

// A value as integer * 2^exponent, with the exponent that hardware aligns it by.
struct Parts {
  std::int64_t significand;  // of 2^(exponent - 23)
  int exponent;
};
Parts parts(double v, int smallest) {
  if (v == 0) return {0, -126};
  const int exponent = std::max(std::ilogb(v), smallest);
  return {static_cast<std::int64_t>(std::ldexp(v, 23 - exponent)), exponent};
}
std::int64_t floor_shift(Wide v, int by) {  // v * 2^by, towards minus infinity
  if (by >= 0) return static_cast<std::int64_t>(v << by);
  return by < -120 ? (v < 0 ? -1 : 0) : static_cast<std::int64_t>(v >> -by);
}
std::int64_t cut_shift(Wide v, int by) { return v < 0 ? -floor_shift(-v, by) : floor_shift(v, by); }

using Values = std::vector<double>;

// CDNA1: the products of a group and the sum exactly, rounded once.
float exact(const Values& a, const Values& b, float c, unsigned group) {
  for (std::size_t first = 0; first < a.size(); first += group) {
    Wide sum = static_cast<Wide>(std::ldexp(static_cast<double>(c), 60));  // the test's values are multiples of 2^-60
    for (std::size_t k = first; k < first + group; ++k) sum += static_cast<Wide>(std::ldexp(a[k] * b[k], 60));
    c = rounded(sum, -60);
  }
  return c;
}

float flush(float v) { return std::fabs(v) < 0x1p-126F ? v * 0 : v; }

// CDNA2: pairs, pairs of pairs, then the sum.
float pairs(const Values& a, const Values& b, float c, unsigned group) {
  c = flush(c);
  for (std::size_t k = 0; k < a.size(); k += group) {
    const auto p = [&](std::size_t i) { return flush(static_cast<float>(a[k + i] * b[k + i])); };
    float sum = flush(p(0) + p(1));
    if (group == 4) sum = flush(sum + flush(p(2) + p(3)));
    c = flush(c + sum);
  }
  return c;
}

// CDNA3: `stride` 2 sums even and odd products separately.
float aligned(const Values& a, const Values& b, float c, std::size_t group, int smallest_a, int smallest_b,
              unsigned stride) {
  group = std::min(group, a.size());
  for (std::size_t first = 0; first < a.size(); first += group) {
    std::int64_t sums[2] = {};
    int exponents[2] = {-1000, -1000};
    for (unsigned part = 0; part < stride; ++part) {
      for (std::size_t k = first + part; k < first + group; k += stride)
        exponents[part] =
            std::max(exponents[part], parts(a[k], smallest_a).exponent + parts(b[k], smallest_b).exponent);
      for (std::size_t k = first + part; k < first + group; k += stride) {
        const Parts x = parts(a[k], smallest_a), y = parts(b[k], smallest_b);
        sums[part] +=
            cut_shift(Wide{x.significand} * y.significand, 24 - 46 + x.exponent + y.exponent - exponents[part]);
      }
    }
    std::int64_t sum = sums[0];
    int exponent = exponents[0];
    if (stride == 2) {
      exponent = std::max(exponents[0], exponents[1]);
      sum = floor_shift(sums[0], exponents[0] - exponent) + floor_shift(sums[1], exponents[1] - exponent);
    }
    const Parts z = parts(static_cast<double>(c), -126);
    const int top = std::max(exponent, z.exponent);
    std::int64_t old = floor_shift(z.significand, 1 + z.exponent - top);
    if (stride == 2 && z.exponent < top - 25) old = 0;
    c = rounded(Wide{floor_shift(sum, 7 + exponent - top)} + Wide{old} * 128, top - 31);
  }
  return c;
}

float fused(const Values& a, const Values& b, float c) {
  for (std::size_t k = 0; k < a.size(); ++k) c = std::fma(static_cast<float>(a[k]), static_cast<float>(b[k]), c);
  return c;
}

using Model = std::function<float(const Values&, const Values&, float)>;
using Draw = std::function<std::uint64_t(std::mt19937&, const std::string&)>;

// Runs the instruction on random operands and compares every element.
void compare(Arch arch, const std::string& instruction, const Model& model, const Draw& draw, const Draw& draw_c,
             int repeats) {
  const MatrixName m = parse_matrix_name(instruction, arch, 64);
  std::mt19937 random(7);
  MatrixProduct p(m);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    std::vector<Values> a(m.blocks * m.m, Values(m.k)), b(m.blocks * m.n, Values(m.k));
    std::vector<float> c(m.blocks * m.m * m.n);
    for (unsigned block = 0; block < m.blocks; ++block) {
      for (unsigned i = 0; i < m.m; ++i)
        for (unsigned k = 0; k < m.k; ++k) {
          const std::uint64_t bits = draw(random, m.a);
          p.set_a(block, i, k, bits);
          a[block * m.m + i][k] = value_of(m.a, arch, bits);
        }
      for (unsigned k = 0; k < m.k; ++k)
        for (unsigned j = 0; j < m.n; ++j) {
          const std::uint64_t bits = draw(random, m.b);
          p.set_b(block, k, j, bits);
          b[block * m.n + j][k] = value_of(m.b, arch, bits);
        }
      for (unsigned i = 0; i < m.m; ++i)
        for (unsigned j = 0; j < m.n; ++j) {
          const std::uint64_t bits = draw_c(random, "f32");
          p.set_c(block, i, j, bits);
          c[(block * m.m + i) * m.n + j] = as_float(bits);
        }
    }
    p.run();
    for (unsigned block = 0; block < m.blocks; ++block)
      for (unsigned i = 0; i < m.m; ++i)
        for (unsigned j = 0; j < m.n; ++j) {
          const float before = c[(block * m.m + i) * m.n + j];
          const float expected = model(a[block * m.m + i], b[block * m.n + j], before);
          const float got = as_float(p.d(block, i, j));
          ASSERT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(expected))
              << instruction << " D[" << block << "][" << i << "][" << j << "] = " << got << ", expected " << expected
              << ", C = " << before;
        }
  }
}

// Normal numbers with exponents in a range, some zeros.
Draw spread(int from, int to, double zeros = 0.05) {
  return [=](std::mt19937& random, const std::string& type) -> std::uint64_t {
    if (std::uniform_real_distribution<>()(random) < zeros) return 0;
    const int exponent = std::uniform_int_distribution<>(from, to)(random);
    const std::uint32_t bits = random();
    const std::uint64_t sign = bits >> 31;
    if (type == "f32") return sign << 31 | std::uint64_t(exponent + 127) << 23 | (bits & 0x7fffff);
    if (type == "xf32") return sign << 31 | std::uint64_t(exponent + 127) << 23 | (bits & 0x7fffff);
    if (type == "bf16") return sign << 15 | std::uint64_t(exponent + 127) << 7 | (bits & 0x7f);
    return sign << 15 | std::uint64_t(exponent + 15) << 10 | (bits & 0x3ff);
  };
}
Draw any_byte(Arch arch) {
  return [=](std::mt19937& random, const std::string& type) -> std::uint64_t {
    for (;;) {
      const std::uint64_t bits = random() & 0xff;
      if (std::isfinite(value_of(type, arch, bits))) return bits;
    }
  };
}
// f16 of every kind except infinities and NaNs.
const Draw any_half = [](std::mt19937& random, const std::string&) -> std::uint64_t {
  for (;;)
    if (const std::uint64_t bits = random() & 0xffff; (bits & 0x7c00) != 0x7c00) return bits;
};

class Rounding : public testing::Test {
 protected:
  Rounding() { matrix::set_sums(matrix::Sums::measured); }
  ~Rounding() override { matrix::set_sums(before_); }

 private:
  matrix::Sums before_ = matrix::sums();
};

TEST_F(Rounding, gfx908_adds_groups_exactly) {
  const Model four = [](const Values& a, const Values& b, float c) { return exact(a, b, c, 4); };
  const Model two = [](const Values& a, const Values& b, float c) { return exact(a, b, c, 2); };
  compare(Arch::gfx908, "v_mfma_f32_32x32x8f16", four, spread(-8, 8), spread(-12, 12), 6);
  compare(Arch::gfx908, "v_mfma_f32_16x16x16f16", four, spread(-2, 2), spread(-20, 20), 20);
  compare(Arch::gfx908, "v_mfma_f32_4x4x4f16", four, any_half, spread(-10, 10), 20);
  compare(Arch::gfx908, "v_mfma_f32_32x32x4bf16", two, spread(-12, 6), spread(-12, 12), 6);
}

TEST_F(Rounding, gfx90a_adds_pairs) {
  const Model four = [](const Values& a, const Values& b, float c) { return pairs(a, b, c, 4); };
  const Model two = [](const Values& a, const Values& b, float c) { return pairs(a, b, c, 2); };
  compare(Arch::gfx90a, "v_mfma_f32_32x32x8f16", four, spread(-8, 8), spread(-12, 12), 6);
  compare(Arch::gfx90a, "v_mfma_f32_16x16x16f16", four, spread(-14, 15), spread(-126, 0), 20);
  compare(Arch::gfx90a, "v_mfma_f32_32x32x8bf16_1k", four, spread(-70, -50), spread(-126, -100), 6);
  compare(Arch::gfx90a, "v_mfma_f32_16x16x8bf16", two, spread(-66, -56), spread(-126, -110), 20);
}

// Flushing is skipped if nothing can be denormal: tests near the limit, and rows of C with one small value.
TEST_F(Rounding, gfx90a_flushes_where_sums_may_be_denormal) {
  const Model four = [](const Values& a, const Values& b, float c) { return pairs(a, b, c, 4); };
  const Model two = [](const Values& a, const Values& b, float c) { return pairs(a, b, c, 2); };
  const Draw sometimes_small = [](std::mt19937& random, const std::string& type) -> std::uint64_t {
    switch (random() % 200) {
      case 0: return random() & 0x807fffff;  // denormal
      case 1: return 0x80000000;
      default: return spread(-103, -100, 0.02)(random, type);  // the last bit of -103 is 2^-126
    }
  };
  for (const int low : {-53, -52, -51, -50, -30}) {
    compare(Arch::gfx90a, "v_mfma_f32_32x32x8bf16_1k", four, spread(low, low + 6), spread(-103, 12), 2);
    compare(Arch::gfx90a, "v_mfma_f32_16x16x8bf16", two, spread(low, low + 3), sometimes_small, 6);
    compare(Arch::gfx90a, "v_mfma_f32_4x4x4bf16_1k", four, spread(low, low + 3), sometimes_small, 6);
  }
  compare(Arch::gfx90a, "v_mfma_f32_32x32x8bf16_1k", four, spread(-12, 6), spread(-12, 12), 4);
  compare(Arch::gfx90a, "v_mfma_f32_16x16x16bf16_1k", four, spread(50, 61), spread(100, 120), 4);
  compare(Arch::gfx90a, "v_mfma_f32_16x16x16f16", four, spread(-14, -10), sometimes_small, 10);
}

TEST_F(Rounding, gfx942_aligns_products) {
  const auto model = [](std::size_t group, int smallest) {
    return [=](const Values& a, const Values& b, float c) { return aligned(a, b, c, group, smallest, smallest, 1); };
  };
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    compare(arch, "v_mfma_f32_32x32x8_f16", model(8, -14), spread(-8, 8), spread(-12, 12), 6);
    compare(arch, "v_mfma_f32_32x32x8_f16", model(8, -14), any_half, spread(-30, 60), 10);
    compare(arch, "v_mfma_f32_16x16x16_f16", model(8, -14), spread(-14, 14), spread(-90, 20), 40);
    compare(arch, "v_mfma_f32_4x4x4_16b_f16", model(4, -14), any_half, spread(-126, 20), 40);
    compare(arch, "v_mfma_f32_32x32x8_bf16", model(8, -126), spread(-8, 8), spread(-12, 12), 6);
  }
  compare(
      Arch::gfx942, "v_mfma_f32_16x16x8_xf32",
      [](const Values& a, const Values& b, float c) { return aligned(a, b, c, 4, -126, -126, 1); }, spread(-8, 8),
      spread(-12, 12), 20);
}

TEST_F(Rounding, gfx942_beyond_the_range_of_floats) {
  const auto model = [](const Values& a, const Values& b, float c) { return aligned(a, b, c, 8, -126, -126, 1); };
  compare(Arch::gfx942, "v_mfma_f32_16x16x16_bf16", model, spread(-126, 60), spread(-126, 20), 20);
  compare(Arch::gfx942, "v_mfma_f32_16x16x16_bf16", model, spread(-75, -55), spread(-126, -90), 20);
  compare(Arch::gfx942, "v_mfma_f32_16x16x16_bf16", model, spread(-126, -40, 0.7), spread(-126, -60, 0.5), 20);
  compare(Arch::gfx942, "v_mfma_f32_32x32x8_bf16", model, spread(50, 62), spread(80, 126), 4);
}

TEST_F(Rounding, gfx942_aligns_fp8_in_halves) {
  for (const char* types : {"fp8_fp8", "fp8_bf8", "bf8_fp8", "bf8_bf8"})
    for (const char* shape : {"32x32x16_", "16x16x32_"}) {
      const auto smallest = [&](char first) { return first == 'f' ? -7 : -15; };
      const int a = smallest(types[0]), b = smallest(types[4]);
      compare(
          Arch::gfx942, std::string("v_mfma_f32_") + shape + types,
          [=](const Values& x, const Values& y, float c) { return aligned(x, y, c, 16, a, b, 2); },
          any_byte(Arch::gfx942), spread(-50, 30), 6);
    }
}

TEST_F(Rounding, fused_sums_are_the_default) {
  matrix::set_sums(matrix::Sums::fused);
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    compare(arch, "v_mfma_f32_32x32x8_f16", fused, any_half, spread(-30, 20), 4);
    compare(arch, "v_mfma_f32_16x16x16_bf16", fused, spread(-20, 20), spread(-30, 30), 10);
    compare(arch, "v_mfma_f32_16x16x32_fp8_bf8", fused, any_byte(arch), spread(-30, 20), 10);
  }
  compare(Arch::gfx942, "v_mfma_f32_32x32x4_xf32", fused, spread(-20, 20), spread(-30, 30), 4);
  compare(Arch::gfx908, "v_mfma_f32_16x16x16f16", fused, any_half, spread(-30, 20), 10);
  compare(Arch::gfx908, "v_mfma_f32_32x32x4bf16", fused, spread(-20, 20), spread(-30, 30), 4);
}

TEST_F(Rounding, f32_is_fused) {
  compare(Arch::gfx942, "v_mfma_f32_32x32x2_f32", fused, spread(-20, 20), spread(-20, 20), 4);
  compare(Arch::gfx908, "v_mfma_f32_16x16x4f32", fused, spread(-20, 20), spread(-20, 20), 10);
  compare(Arch::gfx90a, "v_mfma_f32_4x4x1f32", fused, spread(-20, 20), spread(-20, 20), 10);
  compare(Arch::gfx942, "v_mfma_f32_32x32x2_f32", fused, spread(-80, -60), spread(-126, -120), 4);
}

}  // namespace
}  // namespace rapt::sim::test
