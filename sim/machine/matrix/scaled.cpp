// gfx950's F8F6F4 products, with and without scales.
//
// A's type is in cbsz, B's in blgp. Scales are powers of two (e8m0), one for every 32 k of a row of A and of a column
// of B. One byte of lane l's register holds the scale of row l % M and block l / M; op_sel and op_sel_hi select the
// byte (CDNA4 document, "Block Scaled Matrices"). The scale multiplies a block's dot product before it is added.
#include "sim/machine/core/fault.hpp"
#include "sim/machine/matrix/operands.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <string>

namespace rapt::sim::matrix {

namespace {

constexpr unsigned block_k = 32;

Element format(unsigned code) {
  constexpr Element formats[] = {Element::fp8, Element::bf8, Element::fp6, Element::bf6, Element::fp4};
  if (code >= std::size(formats))
    throw Fault(FaultKind::illegal_instruction, "matrix format " + std::to_string(code) + " of an F8F6F4 product");
  return formats[code];
}

// Types of 8 bits have one layout, and the smaller ones another.
const Plan& plan_for(const Op& op, Element a, Element b) {
  static const auto plans = [] {
    std::array<std::array<std::array<Plan, 2>, 2>, 2> all{};
    constexpr Element kinds[] = {Element::fp8, Element::fp4};
    for (const Op& o : ops)
      if (o.family == Family::scaled)
        for (unsigned x = 0; x < 2; ++x)
          for (unsigned y = 0; y < 2; ++y) all[o.shape.m == 32][x][y] = make_plan(o, kinds[x], kinds[y]);
    return all;
  }();
  return plans[op.shape.m == 32][bits(a) < 8][bits(b) < 8];
}

// 2^(scale - 127) of every lane. For a constant, the exponent field is the scale.
void read_scales(Wave& w, const Operand& o, unsigned byte, double* to) {
  for (unsigned l = 0; l < 64; ++l) {
    std::uint32_t e8m0 = 127;
    if (o.kind == OperandKind::constant) e8m0 = static_cast<std::uint32_t>(o.value) >> 23 & 255;
    else if (o.kind == OperandKind::sgpr) e8m0 = w.sgpr[o.index] >> 8 * byte & 255;
    else if (o.kind != OperandKind::none) e8m0 = w.row(o)[l] >> 8 * byte & 255;
    to[l] = e8m0 == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(e8m0) - 127);
  }
}

template <int N>
void add_blocks(const Plan& plan, const Tile& t, const double* a_scale, const double* b_scale) {
  constexpr int W = 8;
  using F = Vec<float, W>;
  using D = Vec<double, W>;
  for (unsigned row = 0; row < t.rows; ++row)
    for (int n = 0; n < N; n += W) {
      F sum = load<F>(t.c + t.c_at[row] + n);
      for (unsigned first = 0; first < plan.k; first += block_k) {
        D dot{};
        for (unsigned k = first; k < first + block_k; ++k)  // the products are exact as floats
          dot += __builtin_convertvector(t.a[t.a_at[k] + row] * load<F>(t.b + t.b_at[k] + n), D);
        const unsigned group = first / block_k * N;
        const D scale = a_scale[group + row] * load<D>(b_scale + group + n);
        sum = __builtin_convertvector(__builtin_convertvector(sum, D) + dot * scale, F);
      }
      store(t.d + t.d_at[row] + n, sum);
    }
}

}  // namespace

void execute_scaled(const Op& op, Wave& w, const Instruction& i) {
  const Element a_type = format(i.cbsz), b_type = format(i.blgp);
  const Plan& plan = plan_for(op, a_type, b_type);
  alignas(64) float a[largest_operand], b[largest_operand];
  unpack(a_type, w.arch, w.row(i.src[0]), plan.a.elements, 64, a);
  unpack(b_type, w.arch, w.row(i.src[1]), plan.b.elements, 64, b);
  double a_scale[64], b_scale[64];
  read_scales(w, i.src[3], (i.op_sel & 1U) | (i.op_sel_hi & 1U) << 1, a_scale);
  read_scales(w, i.src[4], (i.op_sel >> 1 & 1U) | (i.op_sel_hi >> 1 & 1U) << 1, b_scale);
  Accumulator c(plan, w, i);
  Tile t{};
  t.rows = plan.rows;
  t.a = a;
  t.b = b;
  t.a_at = plan.a_at.data();
  t.b_at = plan.b_at.data();
  t.a_count = t.b_count = largest_operand;
  t.c = c.input();
  t.c_at = c.input_at();
  t.d = c.output();
  t.d_at = c.output_at();
  t.saturate = saturates(w, i);
  if (op.shape.n == 16) add_blocks<16>(plan, t, a_scale, b_scale);
  else add_blocks<32>(plan, t, a_scale, b_scale);
  c.finish(t);
}

}  // namespace rapt::sim::matrix
