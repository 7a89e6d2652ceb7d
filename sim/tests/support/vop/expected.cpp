#include "sim/tests/support/vop/expected.hpp"

#include "sim/tests/support/valu.hpp"
#include "sim/tests/support/vop/saturation.hpp"

namespace rapt::sim::test {
namespace {

bool bit(unsigned bits, unsigned n) { return (bits >> n & 1) != 0; }

// The kind of value whose sign neg and abs change: floats, and operands of moves and selects (RDNA3 and RDNA4 7.2.2.1).
ValueKind sign_kind(const VopForm& form, unsigned number) {
  const bool selects = form.starts_with("v_cndmask_") && number < 2;
  if (!selects && !form.starts_with("v_mov_b16")) return source_kind(form, number);
  return form.has("b16") ? ValueKind{Element::f16, 16} : ValueKind{Element::f32, 32};
}

std::uint32_t half(std::uint32_t word, bool high) { return high ? word >> 16 : word & 0xffff; }

// Exact; a NaN keeps its payload and stays signalling or quiet.
std::uint32_t half_to_single(std::uint32_t h) {
  if ((h & 0x7fff) > 0x7c00) return (h & 0x8000) << 16 | 0x7f800000 | (h & 0x3ff) << 13;
  return bits_of(static_cast<float>(half_value(h)));
}

// "OPSEL for MIX instructions": op_sel_hi says f16, op_sel which half; neg_hi is abs.
std::uint32_t mix_source(std::uint32_t word, unsigned k, const Modifiers& m) {
  std::uint32_t v = bit(m.op_sel_hi, k) ? half_to_single(half(word, bit(m.op_sel, k))) : word;
  if (bit(m.abs, k)) v &= 0x7fffffff;
  return bit(m.neg, k) ? v ^ 0x80000000 : v;
}

// "Packed Math": op_sel and neg for the lower result, op_sel_hi and neg_hi for the upper one; signs only of floats.
std::uint32_t packed_source(std::uint32_t word, unsigned k, bool is_float, const Modifiers& m) {
  const std::uint32_t low = half(word, bit(m.op_sel, k)) ^ (is_float && bit(m.neg, k) ? 0x8000 : 0);
  const std::uint32_t high = half(word, bit(m.op_sel_hi, k)) ^ (is_float && bit(m.abs, k) ? 0x8000 : 0);
  return low | high << 16;
}

void modify_packed(const VopForm& form, unsigned k, ValueKind kind, const Modifiers& m, std::size_t lanes,
                   std::vector<std::uint32_t>& rows) {
  const std::uint32_t low_sign = kind.is_float() && bit(m.neg, k) ? 0x80000000 : 0;
  const std::uint32_t high_sign = kind.is_float() && bit(m.abs, k) ? 0x80000000 : 0;
  for (std::size_t l = 0; l < lanes; ++l) {
    std::uint32_t& first = rows[l];
    if (form.is_mix()) {
      first = mix_source(first, k, m);
    } else if (kind.pair && kind.bits == 16) {
      first = packed_source(first, k, kind.is_float(), m);
    } else if (kind.pair) {
      const std::uint32_t low = first, high = rows[lanes + l];
      first = (bit(m.op_sel, k) ? high : low) ^ low_sign;
      rows[lanes + l] = (bit(m.op_sel_hi, k) ? high : low) ^ high_sign;
    } else {
      if (bit(m.abs, k)) first &= 0x7fffffff;  // v_dot4_f32_*
      first ^= low_sign;
    }
  }
}

// The place of the widened bytes: op_sel's two bits select fp8 and bf8 or, in pairs, the half; both bits select pairs
// of fp4. The two bits are in reverse order on gfx12 (LLVM prints them as byte_sel).
unsigned first_bit_of_source(const VopForm& form, const Modifiers& m) {
  const bool widens = form.opcode->name.ends_with("fp8") || form.opcode->name.ends_with("bf8");
  const bool fp4 = form.opcode->name.ends_with("fp4");
  if ((!widens && !fp4) || form.is_vop3p()) return 0;
  if (widens && form.has("pk")) return (m.op_sel & 1) * 16;
  const unsigned byte = is_cdna(form.arch) ? m.op_sel & 3 : (m.op_sel & 1) << 1 | (m.op_sel >> 1 & 1);
  return byte * 8;
}

// ---- results ----

// A float result's value and back: exact for all results of modifiers.
double value_of(ValueKind kind, std::uint64_t bits) {
  switch (kind.element) {
    case Element::f16: return half_value(static_cast<std::uint32_t>(bits));
    case Element::bf16: return static_cast<double>(as_float(static_cast<std::uint32_t>(bits) << 16));
    case Element::f32: return static_cast<double>(as_float(static_cast<std::uint32_t>(bits)));
    default: return as_double(bits);
  }
}
std::uint64_t bits_of_value(ValueKind kind, double value) {
  switch (kind.element) {
    case Element::f16: return nearest_half(static_cast<long double>(value));
    case Element::bf16: return bits_of(static_cast<float>(value)) >> 16;
    case Element::f32: return bits_of(static_cast<float>(value));
    default: return bits_of(value);
  }
}
double smallest_normal(ValueKind kind) {
  return kind.element == Element::f16 ? 0x1p-14 : kind.element == Element::f64 ? 0x1p-1022 : 0x1p-126;
}
double largest(ValueKind kind) {
  switch (kind.element) {
    case Element::f16: return 65504;
    case Element::bf16: return 0x1.fep127;
    case Element::f32: return 0x1.fffffep127;
    default: return 0x1.fffffffffffffp1023;
  }
}

// OMOD multiplies by 2, 4 or 1/2 and turns -0 into +0. It is left open if the plain result is infinite, denormal or
// zero by rounding, or the product would be: whether OMOD acts before or after the rounding is not documented.
std::uint64_t scaled(ValueKind kind, std::uint64_t bits, unsigned omod, bool& open) {
  const double plain = value_of(kind, bits);
  if (std::isnan(plain)) return bits;
  const double product = plain * (omod == 1 ? 2.0 : omod == 2 ? 4.0 : 0.5), size = std::fabs(product);
  open = std::isinf(plain) || size > largest(kind) || (plain != 0 && std::fabs(plain) < smallest_normal(kind)) ||
         (product != 0 && size < smallest_normal(kind));
  return bits_of_value(kind, product == 0 ? 0.0 : product);
}

std::uint64_t clamped(ValueKind kind, std::uint64_t bits, bool nan_to_zero) {
  const double v = value_of(kind, bits);
  if (std::isnan(v)) return nan_to_zero ? 0 : bits;
  if (std::signbit(v)) return 0;
  return v > 1 ? bits_of_value(kind, 1) : bits;
}

struct Finisher {
  const Modifiers& m;
  ResultMode mode;
  ValueKind kind;

  std::uint64_t operator()(std::uint64_t bits, bool& open) const {
    if (!kind.is_float()) return bits;
    // Packed results have no output multiplier (RDNA3 7.2.3.1, CDNA4 6.7).
    if (m.omod != 0 && mode.omod_counts && !kind.pair) bits = scaled(kind, bits, m.omod, open);
    return m.clamp ? clamped(kind, bits, mode.nan_to_zero) : bits;
  }
};

LaneSources sources_of_lane(const VopForm& form, const SourceRows& sources, const std::vector<std::uint32_t>& before,
                            std::size_t lane) {
  LaneSources result;
  for (std::size_t s = 0; s < form.sources.size(); ++s) {
    const VopSource& source = form.sources[s];
    const bool mask = source.in.file == 's' && source.number == 2;
    for (unsigned d = 0; d < source.in.dwords && !mask; ++d)
      result[source.number].push_back(sources[s][d * form.lanes + lane]);
    if (mask) result[2] = {sources[s][lane / 32] >> lane % 32 & 1};
  }
  if (result[2].empty()) result[2] = {before[lane]};  // v_dot4c and the like add to their destination
  return result;
}

// A result of whole registers: one or two floats, or integers, from wide arithmetic if they are saturated.
void finish_whole(const VopForm& form, const Finisher& finish, const LaneSources& lane_sources,
                  std::vector<std::uint32_t>& rows, std::size_t l, bool& open) {
  const ValueKind kind = finish.kind;
  const std::size_t lanes = form.lanes;
  std::uint32_t& low = rows[l];
  const bool by_sign = form.has("iu8") || form.has("iu4");
  if (!kind.is_float()) {
    if (!finish.m.clamp && !by_sign) return;
    const auto wide = integer_result(form, lane_sources, finish.m.neg, finish.m.clamp);
    for (unsigned d = 0; wide && d < wide->size(); ++d)
      rows[d * lanes + l] = kind.bits == 16 && !kind.pair ? (rows[l] & 0xffff0000) | (*wide)[d] : (*wide)[d];
  } else if (kind.bits == 64) {
    const std::uint64_t bits = finish(low | std::uint64_t{rows[lanes + l]} << 32, open);
    low = static_cast<std::uint32_t>(bits);
    rows[lanes + l] = static_cast<std::uint32_t>(bits >> 32);
  } else if (kind.bits == 16) {
    const bool both = kind.pair, high = form.starts_with("v_fma_mixhi");
    const std::uint64_t lower = high ? low & 0xffff : finish(low & 0xffff, open);
    const std::uint64_t upper = both || high ? finish(low >> 16, open) : low >> 16;
    low = static_cast<std::uint32_t>(lower | upper << 16);
  } else {
    low = static_cast<std::uint32_t>(finish(low, open));
    if (kind.pair) rows[lanes + l] = static_cast<std::uint32_t>(finish(rows[lanes + l], open));
  }
}

// VOP3's op_sel puts a 16-bit result in a half (bit 3), an 8-bit one in a byte (bits 3 and 2); the rest is kept.
std::uint32_t placed(const VopForm& form, ValueKind kind, unsigned op_sel, std::uint32_t plain, std::uint32_t before) {
  if (form.is_vop3p() || kind.pair || kind.bits > 16) return plain;
  const unsigned at = kind.bits == 16 ? (op_sel >> 3) * 16 : (op_sel >> 2) * 8;
  if (at == 0) return plain;
  const std::uint32_t field = (1U << kind.bits) - 1;
  return (before & ~(field << at)) | (plain & field) << at;
}

}  // namespace

VopForm reference_form(const VopForm& form) {
  VopForm reference = form;
  if (form.is_vop3p() && source_kind(form, 0).pair) {
    reference.words[0] |= 1U << 14;
    reference.words[1] |= 3U << 27;
  } else if (form.is_mix()) {
    reference.words[0] &= ~(1U << 14);
    reference.words[1] &= ~(3U << 27);
  }
  return reference;
}

void modify_source(const VopForm& form, const VopSource& source, const Modifiers& m, std::vector<std::uint32_t>& rows) {
  const unsigned k = source.number;
  const ValueKind kind = sign_kind(form, k);
  const std::size_t lanes = rows.size() / source.in.dwords;  // 1 for a scalar register
  if (form.is_vop3p()) return modify_packed(form, k, kind, m, lanes, rows);
  const unsigned shift = k == 0 ? first_bit_of_source(form, m) : 0;
  const std::uint32_t sign = (kind.bits == 16 ? 0x8000U : 0) | (kind.bits == 16 && !kind.pair ? 0 : 0x80000000U);
  const std::size_t untouched = kind.bits == 64 ? lanes : 0;  // the lower dwords
  for (std::size_t l = 0; l < rows.size(); ++l) {
    std::uint32_t& v = rows[l];
    if (kind.bits == 16 && !kind.pair && bit(m.op_sel, k)) v = v >> 16 | v << 16;
    v >>= shift;
    if (!kind.is_float() || l < untouched) continue;
    if (bit(m.abs, k)) v &= ~sign;
    if (bit(m.neg, k)) v ^= sign;
  }
}

ResultMode result_mode(const Wave& wave, const VopForm& form) {
  // RDNA4 7.2.3.1: "OMOD is allowed regardless of MODE.denorm setting". CDNA4 6.2.2, RDNA3 7.2.3.1: not so.
  if (contains(gfx12, wave.arch)) return {true, true};
  const ValueKind kind = result_kind(form);
  const bool single = kind.bits == 32 || kind.element == Element::bf16;
  const std::uint32_t keeps_output =
      single ? mode::denorm_f32 & mode::denorm_f32 << 1 : mode::denorm_f16_f64 & mode::denorm_f16_f64 << 1;
  return {(wave.mode & (keeps_output | mode::ieee)) == 0, (wave.mode & mode::dx10_clamp) != 0};
}

Expected modify_result(const VopForm& form, const Modifiers& m, ResultMode mode, VopResult base,
                       const SourceRows& sources, const std::vector<std::uint32_t>& before) {
  Expected expected{std::move(base), std::vector<bool>(form.lanes)};
  const Finisher finish{m, mode, result_kind(form)};
  if (form.starts_with("v_s_")) {  // to s0
    std::uint32_t& scalar = expected.result.sgprs[0];
    bool open = false;
    scalar = static_cast<std::uint32_t>(finish(scalar, open));
    expected.open.assign(form.lanes, open);
  }
  if (form.dst.file != 'v') return expected;
  std::vector<std::uint32_t>& rows = expected.result.vgprs;
  for (std::size_t l = 0; l < form.lanes; ++l) {
    bool open = false;
    finish_whole(form, finish, sources_of_lane(form, sources, before, l), rows, l, open);
    rows[l] = placed(form, finish.kind, m.op_sel, rows[l], before[l]);
    expected.open[l] = open;
  }
  return expected;
}

}  // namespace rapt::sim::test
