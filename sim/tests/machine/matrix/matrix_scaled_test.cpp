// gfx950's F8F6F4 products: every pair of types, and scales in each byte.
#include "sim/tests/support/float_bits.hpp"
#include "sim/tests/support/matrix_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rapt::sim::test {
namespace {

constexpr const char* types[] = {"fp8", "bf8", "fp6", "bf6", "fp4"};
constexpr unsigned a_register = 0, b_register = 8, c_register = 16, d_register = 32, scale_a = 48, scale_b = 49;

struct Shape {
  const char* name;
  unsigned m, k;
};
constexpr Shape shapes[] = {{"16x16x128", 16, 128}, {"32x32x64", 32, 64}};

// The place of k of row (column) `side`. Types of 8 bits have 16 k per lane in registers 0 to 3 and 16 in 4 to 7,
// smaller ones 32 in a row (composable_kernel's test/mx_mfma_op, "Register Mapping").
Place place(const Shape& s, const std::string& type, unsigned side, unsigned k) {
  const unsigned bits = type_bits(type);
  if (bits == 8) return {(k / (s.k / 2) * 16 + k % 16) * 8, side + s.m * (k % (s.k / 2) / 16)};
  return {k % 32 * bits, side + s.m * (k / 32)};
}
Place place_result(const Shape& s, unsigned i, unsigned j) {
  if (s.m == 16) return {i % 4 * 32, i / 4 * 16 + j};
  return {(i / 8 * 4 + i % 4) * 32, i / 4 % 2 * 32 + j};
}

class Scaled {
 public:
  Scaled(const Shape& s, unsigned a, unsigned b, bool scaled)
      : shape(s), a_type(types[a]), b_type(types[b]), w(Arch::gfx950) {
    i.dst = vgprs(d_register);
    i.src[0] = vgprs(a_register);
    i.src[1] = vgprs(b_register);
    i.src[2] = vgprs(c_register);
    if (scaled) {
      i.src[3] = vgprs(scale_a);
      i.src[4] = vgprs(scale_b);
    }
    i.cbsz = static_cast<std::uint8_t>(a);
    i.blgp = static_cast<std::uint8_t>(b);
    handler = tested_handler(std::string(scaled ? "v_mfma_scale_f32_" : "v_mfma_f32_") + s.name + "_f8f6f4",
                             Arch::gfx950, 64);
  }
  Shape shape;
  std::string a_type, b_type;
  OneWave w;
  Instruction i;
  Handler handler;
  std::vector<double> a, b, c;

  void fill(unsigned seed) {
    std::mt19937 random(seed);
    a.resize(shape.m * shape.k);
    b.resize(shape.m * shape.k);
    c.resize(shape.m * shape.m);
    const auto draw = [&](const std::string& type) {
      for (;;) {
        const std::uint32_t bits = random() & ((1U << type_bits(type)) - 1);
        const double v = value_of(type, Arch::gfx950, bits);
        if (std::isfinite(v) && std::fabs(v) < 100) return std::pair{bits, v};
      }
    };
    for (unsigned side = 0; side < shape.m; ++side)
      for (unsigned k = 0; k < shape.k; ++k) {
        const auto [a_bits, a_value] = draw(a_type);
        const auto [b_bits, b_value] = draw(b_type);
        put(w, a_register, place(shape, a_type, side, k), type_bits(a_type), a_bits);
        put(w, b_register, place(shape, b_type, side, k), type_bits(b_type), b_bits);
        a[side * shape.k + k] = a_value;
        b[side * shape.k + k] = b_value;
      }
    for (unsigned row = 0; row < shape.m; ++row)
      for (unsigned column = 0; column < shape.m; ++column) {
        const float v = static_cast<float>(row) - 0.5F * static_cast<float>(column);
        put(w, c_register, place_result(shape, row, column), 32, std::bit_cast<std::uint32_t>(v));
        c[row * shape.m + column] = static_cast<double>(v);
      }
  }
  float result(unsigned row, unsigned column) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(get(w, d_register, place_result(shape, row, column), 32)));
  }
  void check(const std::vector<double>& row_scale, const std::vector<double>& column_scale) {
    for (unsigned row = 0; row < shape.m; ++row)
      for (unsigned column = 0; column < shape.m; ++column) {
        double sum = c[row * shape.m + column], size = std::fabs(sum);
        for (unsigned k = 0; k < shape.k; ++k) {
          const double p = a[row * shape.k + k] * b[column * shape.k + k] * row_scale[row + shape.m * (k / 32)] *
                           column_scale[column + shape.m * (k / 32)];
          sum += p;
          size += std::fabs(p);
        }
        ASSERT_NEAR(static_cast<double>(result(row, column)), sum, size * 1e-6)
            << shape.name << " " << a_type << " " << b_type;
      }
  }
};

TEST(MatrixScaled, every_pair_of_types) {
  for (const Shape& s : shapes)
    for (unsigned a = 0; a < 5; ++a)
      for (unsigned b = 0; b < 5; ++b) {
        Scaled p(s, a, b, false);
        p.fill(a * 5 + b);
        p.handler(p.w.wave(), p.i);
        const std::vector<double> ones(64, 1);
        p.check(ones, ones);
      }
}

TEST(MatrixScaled, scales_of_rows_and_columns) {
  for (const Shape& s : shapes)
    for (unsigned a = 0; a < 5; ++a)
      for (unsigned byte_a = 0; byte_a < 4; ++byte_a) {
        const unsigned byte_b = (byte_a + a) % 4;
        Scaled p(s, a, 4 - a, true);
        p.fill(a);
        std::vector<double> rows(64), columns(64);
        for (unsigned l = 0; l < 64; ++l) {
          const unsigned ea = 120 + l % 13, eb = 133 - l % 11;
          p.w.v(scale_a, l) = ~(255U << 8 * byte_a) | ea << 8 * byte_a;
          p.w.v(scale_b, l) = ~(255U << 8 * byte_b) | eb << 8 * byte_b;
          rows[l] = std::ldexp(1, static_cast<int>(ea) - 127);
          columns[l] = std::ldexp(1, static_cast<int>(eb) - 127);
        }
        p.i.op_sel = static_cast<std::uint8_t>((byte_a & 1) | (byte_b & 1) << 1);
        p.i.op_sel_hi = static_cast<std::uint8_t>(byte_a >> 1 | byte_b >> 1 << 1);
        p.handler(p.w.wave(), p.i);
        p.check(rows, columns);
      }
}

TEST(MatrixScaled, constants_scale_by_their_exponent_and_255_is_nan) {
  Scaled p(shapes[0], 0, 0, true);
  p.fill(1);
  p.i.src[3] = constant(0x40800000);  // 4.0
  p.i.src[4] = constant(0x3f000000);  // 0.5
  p.handler(p.w.wave(), p.i);
  p.check(std::vector<double>(64, 4), std::vector<double>(64, 0.5));
  p.i.src[3] = vgprs(scale_a);
  p.w.fill(scale_a, 127);
  p.w.v(scale_a, 3) = 255;
  p.handler(p.w.wave(), p.i);
  EXPECT_TRUE(std::isnan(p.result(3, 7)));
  EXPECT_FALSE(std::isnan(p.result(4, 7)));
}

TEST(MatrixScaled, as_assembled) {
  OneWave w(Arch::gfx950);
  for (unsigned r = 0; r < 8; ++r) {
    w.fill(r, 0x38383838);      // fp8 ones
    w.fill(8 + r, 0x22222222);  // fp4 ones
  }
  w.fill(48, 0x00800000);  // the third byte: 2
  w.fill(49, 0x7e000000);  // the fourth: 1/2... of the fourth byte
  w.run(
      "v_mfma_scale_f32_16x16x128_f8f6f4 v[32:35], v[0:7], v[8:11], 1.0, v48, v49 op_sel:[0,1,0] op_sel_hi:[1,1,0] "
      "blgp:4");
  EXPECT_EQ(w.f(33, 5), 128.0F + 1.0F);
  w.run("v_mfma_f32_32x32x64_f8f6f4 v[64:79], v[0:7], v[8:11], 0 blgp:4");
  EXPECT_EQ(w.f(70, 5), 64.0F);
}

TEST(MatrixScaled, an_unknown_type_is_refused) {
  Scaled p(shapes[0], 0, 0, false);
  p.i.cbsz = 5;
  EXPECT_THROW(p.handler(p.w.wave(), p.i), Fault);
}

}  // namespace
}  // namespace rapt::sim::test
