// MFMA on doubles. From gfx942 on BLGP negates A, B and C, and the decoder gives it as neg (CDNA3 document, "Alternate
// meaning of broadcast fields for F64 instructions"). In gfx90a's document and in LLVM, BLGP only permutes lanes.
#include "sim/isa/constants.hpp"
#include "sim/machine/matrix/operands.hpp"

#include <bit>
#include <cmath>

namespace rapt::sim::matrix {

namespace {

double value(const std::uint32_t* low, unsigned lane) {
  return std::bit_cast<double>(low[lane] | std::uint64_t{low[lane + 64]} << 32);
}

}  // namespace

void execute_f64(const Plan& plan, Wave& w, const Instruction& i) {
  double a[64], b[64], d[256];
  for (unsigned l = 0; l < 64; ++l) {
    a[l] = value(w.row(i.src[0]), l);
    b[l] = value(w.row(i.src[1]), w.arch == Arch::gfx90a ? permuted_lane(l, i.blgp) : l);
    if ((i.neg & 1) != 0) a[l] = -a[l];
    if ((i.neg & 2) != 0) b[l] = -b[l];
  }
  const Operand& c = i.src[2];
  const bool constant = c.kind == OperandKind::constant;
  const auto code = constant ? inline_code(c.value, Type::b32) : std::nullopt;
  const double fixed = std::bit_cast<double>(code ? *inline_constant(*code, Type::f64) : c.value);
  const unsigned n_count = plan.op->shape.n;
  for (unsigned block = 0; block < plan.blocks; ++block)
    for (unsigned row = 0; row < plan.rows; ++row) {
      const unsigned place = block * plan.rows + row;
      double* const sums = d + place * n_count;
      for (unsigned n = 0; n < n_count; ++n) sums[n] = constant ? fixed : value(w.row(c) + plan.d_at[place], n);
      if ((i.neg & 4) != 0)
        for (unsigned n = 0; n < n_count; ++n) sums[n] = -sums[n];
      for (unsigned k = 0; k < plan.k; ++k) {
        const double factor = a[plan.a_at[block * plan.k + k] + row];
        const double* const from = b + plan.b_at[block * plan.k + k];
#pragma GCC ivdep
        for (unsigned n = 0; n < n_count; ++n) sums[n] = std::fma(factor, from[n], sums[n]);
      }
    }
  for (unsigned place = 0; place < plan.blocks * plan.rows; ++place)
    for (unsigned n = 0; n < n_count; ++n) {
      const auto bits = std::bit_cast<std::uint64_t>(d[place * n_count + n]);
      std::uint32_t* const low = w.row(i.dst) + plan.d_at[place] + n;
      low[0] = static_cast<std::uint32_t>(bits);
      low[64] = static_cast<std::uint32_t>(bits >> 32);
    }
}

}  // namespace rapt::sim::matrix
