#include "sim/machine/matrix/operands.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rapt::sim::matrix {

namespace {

// A denormal becomes zero, with or without its sign.
void flush(float* values, unsigned count, float smallest_normal, bool keep_sign) {
  for (unsigned i = 0; i < count; ++i)
    values[i] =
        std::fabs(values[i]) < smallest_normal ? (keep_sign ? std::copysign(0.0F, values[i]) : 0.0F) : values[i];
}

void negate(float* values, unsigned count) {
  for (unsigned i = 0; i < count; ++i) values[i] = -values[i];
}

void permute_lanes(float* values, unsigned elements, unsigned blgp) {
  for (unsigned e = 0; e < elements; ++e) {
    float row[64];
    std::copy_n(values + e * 64, 64, row);
    for (unsigned l = 0; l < 64; ++l) values[e * 64 + l] = row[permuted_lane(l, blgp)];
  }
}

Element as_signed(Element e, bool is_signed) {
  if (is_signed) return e;
  return e == Element::i8 ? Element::u8 : Element::u4;
}

}  // namespace

unsigned permuted_lane(unsigned lane, unsigned blgp) {
  switch (blgp) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7: return lane % 16 + 16 * (blgp - 4);
    default: return lane;
  }
}

void read_operand(const Plan& plan, Wave& w, const Instruction& i, unsigned which, float* to) {
  const Op& op = *plan.op;
  const InputLayout& layout = which == 0 ? plan.a : plan.b;
  const unsigned count = layout.elements * plan.lanes;
  Element type = which == 0 ? op.a : op.b;
  const bool rdna = is_rdna(w.arch);
  if (rdna && is_integer(type)) type = as_signed(type, (i.neg >> which & 1) != 0);
  unpack(type, w.arch, w.row(i.src[which]), layout.elements, plan.lanes, to);

  if (rdna) {
    if (type != Element::f16 && type != Element::bf16) return;
    for (unsigned e = 0; e < layout.elements; ++e)
      if (((e % 2 == 0 ? i.neg : i.neg_hi) >> which & 1) != 0) negate(to + e * plan.lanes, plan.lanes);
    return;
  }
  // gfx90a flushes denormals of f16 and bf16 (CDNA2 document, table of VOP3P-MAI opcodes; neither gfx908 nor gfx942
  // does); f32 follows the mode there and on gfx942 (its document, "Floating-point handling details").
  if (w.arch == Arch::gfx90a && type == Element::f16) flush(to, count, 0x1p-14F, false);
  if (w.arch == Arch::gfx90a && type == Element::bf16) flush(to, count, 0x1p-126F, false);
  const bool keeps_input = (w.mode & mode::denorm_f32 & -mode::denorm_f32) != 0;
  if (type == Element::f32 && w.arch != Arch::gfx908 && !keeps_input) flush(to, count, 0x1p-126F, true);
  if (which == 1 && op.family == Family::mfma && i.blgp != 0) permute_lanes(to, layout.elements, i.blgp);
}

bool saturates(const Wave& w, const Instruction& i) {
  if (is_rdna(w.arch)) return i.clamp;
  return (w.arch == Arch::gfx942 || w.arch == Arch::gfx950) && (w.mode & mode::fp16_ovfl) != 0;
}

// Follows the table of the fields in the CDNA3 document and the calculator; the document's formula by lanes agrees if
// 2^cbsz is the number of blocks.
void broadcast_blocks(const Plan& plan, const Instruction& i, std::array<std::uint16_t, 128>& a_at) {
  for (unsigned block = 0; block < plan.blocks; ++block) {
    const unsigned source = ((block >> i.cbsz << i.cbsz) + i.abid) % plan.blocks;
    for (unsigned k = 0; k < plan.k; ++k) a_at[block * plan.k + k] = plan.a_at[source * plan.k + k];
  }
}

void sparse_steps(const Plan& plan, Wave& w, const Instruction& i, float* a,
                  std::array<std::uint16_t, largest_operand / 2>& b_at) {
  const Op& op = *plan.op;
  const unsigned size = 2 * plan.a.elements, sets = 32 / size;  // bits of indices per lane; several sets in a register
  const bool gfx12 = op.family == Family::swmmac;
  const unsigned key = gfx12 ? i.op_sel : i.cbsz == 0 ? i.abid : 0;
  const unsigned shift = key % sets * size;
  const std::uint32_t* indices = w.row(i.src[2]);
  for (unsigned row = 0; row < plan.rows; ++row)
    for (unsigned k = 0; k < plan.k; ++k) {
      const unsigned at = plan.a_at[k] + row, element = at / plan.lanes, lane = at % plan.lanes;
      const std::uint32_t pair = indices[lane] >> (shift + element / 2 * 4) & 15;
      const unsigned index = k % 2 == 0 ? pair & 3 : pair >> 2;
      b_at[row * plan.k + k] = plan.b_at[k / 2 * 4 + index];
      // RDNA4 document, "Expanding a packed sparse A-matrix": the first value cannot be at place 3, the second neither
      // at 0 nor at the first one's place.
      if (gfx12 && (k % 2 == 0 ? index == 3 : index == 0 || index == (pair & 3))) a[at] = 0;
    }
}

}  // namespace rapt::sim::matrix
