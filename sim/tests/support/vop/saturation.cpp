#include "sim/tests/support/vop/saturation.hpp"

#include <algorithm>

namespace rapt::sim::test {
namespace {

__extension__ using Wide = __int128;

Wide field(Wide bits, unsigned width, bool is_signed) {
  const Wide value = bits & ((Wide{1} << width) - 1);
  return is_signed && (value >> (width - 1)) != 0 ? value - (Wide{1} << width) : value;
}

std::uint64_t finish(Wide value, unsigned width, bool is_signed, bool clamp) {
  const Wide low = is_signed ? -(Wide{1} << (width - 1)) : 0;
  const Wide high = (Wide{1} << (is_signed ? width - 1 : width)) - 1;
  if (clamp) value = std::clamp(value, low, high);
  return static_cast<std::uint64_t>(value) & static_cast<std::uint64_t>((Wide{1} << width) - 1);
}

Wide whole(const std::vector<std::uint32_t>& dwords) {
  if (dwords.empty()) return 0;
  return dwords[0] | (dwords.size() > 1 ? Wide{dwords[1]} << 32 : 0);
}

std::vector<std::uint32_t> dwords(std::uint64_t value, unsigned width) {
  if (width <= 32) return {static_cast<std::uint32_t>(value)};
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
}

// ---- sums and products ----

struct Operation {
  std::string_view name;
  unsigned source_bits, third_bits, result_bits;
  bool is_signed;
  Wide (*value)(Wide a, Wide b, Wide c);
};
constexpr auto sum = [](Wide a, Wide b, Wide) { return a + b; };
constexpr auto difference = [](Wide a, Wide b, Wide) { return a - b; };
constexpr auto reversed = [](Wide a, Wide b, Wide) { return b - a; };
constexpr auto with_carry = [](Wide a, Wide b, Wide c) { return a + b + c; };
constexpr auto with_borrow = [](Wide a, Wide b, Wide c) { return a - b - c; };
constexpr auto reversed_with_borrow = [](Wide a, Wide b, Wide c) { return b - a - c; };
constexpr auto product = [](Wide a, Wide b, Wide) { return a * b; };
constexpr auto multiply_add = [](Wide a, Wide b, Wide c) { return a * b + c; };
constexpr auto distance_add = [](Wide a, Wide b, Wide c) { return (a > b ? a - b : b - a) + c; };

const Operation operations[] = {
    {"v_add_u32", 32, 1, 32, false, sum},
    {"v_add_nc_u32", 32, 1, 32, false, sum},
    {"v_add_co_u32", 32, 1, 32, false, sum},
    {"v_sub_u32", 32, 1, 32, false, difference},
    {"v_sub_nc_u32", 32, 1, 32, false, difference},
    {"v_sub_co_u32", 32, 1, 32, false, difference},
    {"v_subrev_u32", 32, 1, 32, false, reversed},
    {"v_subrev_nc_u32", 32, 1, 32, false, reversed},
    {"v_subrev_co_u32", 32, 1, 32, false, reversed},
    {"v_addc_co_u32", 32, 1, 32, false, with_carry},
    {"v_add_co_ci_u32", 32, 1, 32, false, with_carry},
    {"v_subb_co_u32", 32, 1, 32, false, with_borrow},
    {"v_sub_co_ci_u32", 32, 1, 32, false, with_borrow},
    {"v_subbrev_co_u32", 32, 1, 32, false, reversed_with_borrow},
    {"v_subrev_co_ci_u32", 32, 1, 32, false, reversed_with_borrow},
    {"v_add_i32", 32, 1, 32, true, sum},
    {"v_add_nc_i32", 32, 1, 32, true, sum},
    {"v_sub_i32", 32, 1, 32, true, difference},
    {"v_sub_nc_i32", 32, 1, 32, true, difference},
    {"v_add_u16", 16, 1, 16, false, sum},
    {"v_add_nc_u16", 16, 1, 16, false, sum},
    {"v_sub_u16", 16, 1, 16, false, difference},
    {"v_sub_nc_u16", 16, 1, 16, false, difference},
    {"v_subrev_u16", 16, 1, 16, false, reversed},
    {"v_add_i16", 16, 1, 16, true, sum},
    {"v_add_nc_i16", 16, 1, 16, true, sum},
    {"v_sub_i16", 16, 1, 16, true, difference},
    {"v_sub_nc_i16", 16, 1, 16, true, difference},
    {"v_mad_u16", 16, 16, 16, false, multiply_add},
    {"v_mad_legacy_u16", 16, 16, 16, false, multiply_add},
    {"v_mad_i16", 16, 16, 16, true, multiply_add},
    {"v_mad_legacy_i16", 16, 16, 16, true, multiply_add},
    {"v_mad_u32_u16", 16, 32, 32, false, multiply_add},
    {"v_mad_i32_i16", 16, 32, 32, true, multiply_add},
    {"v_mad_u32_u24", 24, 32, 32, false, multiply_add},
    {"v_mad_i32_i24", 24, 32, 32, true, multiply_add},
    {"v_mul_u32_u24", 24, 1, 32, false, product},
    {"v_mul_i32_i24", 24, 1, 32, true, product},
    {"v_mad_u64_u32", 32, 64, 64, false, multiply_add},
    {"v_mad_co_u64_u32", 32, 64, 64, false, multiply_add},
    {"v_mad_i64_i32", 32, 64, 64, true, multiply_add},
    {"v_mad_co_i64_i32", 32, 64, 64, true, multiply_add},
    {"v_sad_u32", 32, 32, 32, false, distance_add},
};
// The same on each half.
const Operation packed_operations[] = {
    {"v_pk_add_u16", 16, 1, 16, false, sum},           {"v_pk_add_i16", 16, 1, 16, true, sum},
    {"v_pk_sub_u16", 16, 1, 16, false, difference},    {"v_pk_sub_i16", 16, 1, 16, true, difference},
    {"v_pk_mad_u16", 16, 16, 16, false, multiply_add}, {"v_pk_mad_i16", 16, 16, 16, true, multiply_add},
};

std::uint64_t run(const Operation& op, Wide a, Wide b, Wide c, bool clamp) {
  const Wide value = op.value(field(a, op.source_bits, op.is_signed), field(b, op.source_bits, op.is_signed),
                              op.third_bits == 1 ? c & 1 : field(c, op.third_bits, op.is_signed));
  return finish(value, op.result_bits, op.is_signed, clamp);
}

// ---- sums of absolute differences ----

// Distances of `width`-bit parts. `masked`: only where b's part is not 0.
Wide distances(Wide a, Wide b, unsigned width, bool masked) {
  Wide total = 0;
  for (unsigned at = 0; at < 32; at += width) {
    const Wide x = field(a >> at, width, false), y = field(b >> at, width, false);
    if (!masked || y != 0) total += x > y ? x - y : y - x;
  }
  return total;
}

std::vector<std::uint32_t> quad_of_distances(const LaneSources& s, unsigned width, bool masked, bool clamp) {
  std::vector<std::uint32_t> result(s[2].size());
  for (unsigned n = 0; n < 4; ++n) {
    const unsigned at = n * width;
    const Wide before = field(s[2][at / 32] >> at % 32, width, false);
    const Wide total = distances(whole(s[0]) >> 8 * n, whole(s[1]), 8, masked) + before;
    result[at / 32] |= static_cast<std::uint32_t>(finish(total, width, false, clamp)) << at % 32;
  }
  return result;
}

std::optional<std::vector<std::uint32_t>> distance_result(const VopForm& form, const LaneSources& s, bool clamp) {
  const Wide a = whole(s[0]), b = whole(s[1]), c = whole(s[2]);
  if (form.starts_with("v_qsad_pk_u16_u8")) return quad_of_distances(s, 16, false, clamp);
  if (form.starts_with("v_mqsad_pk_u16_u8")) return quad_of_distances(s, 16, true, clamp);
  if (form.starts_with("v_mqsad_u32_u8")) return quad_of_distances(s, 32, true, clamp);
  Wide total = 0;
  if (form.starts_with("v_sad_u8")) total = distances(a, b, 8, false);
  else if (form.starts_with("v_msad_u8")) total = distances(a, b, 8, true);
  else if (form.starts_with("v_sad_hi_u8")) total = distances(a, b, 8, false) << 16;
  else if (form.starts_with("v_sad_u16")) total = distances(a, b, 16, false);
  else return std::nullopt;
  return dwords(finish(total + c, 32, false, clamp), 32);
}

// ---- dot products ----

struct Dot {
  std::string_view stem;
  unsigned width;
  bool is_signed, by_neg;
};
constexpr Dot dots[] = {
    {"v_dot2_i32_i16", 16, true, false},  {"v_dot2_u32_u16", 16, false, false}, {"v_dot4_i32_i8", 8, true, false},
    {"v_dot4_u32_u8", 8, false, false},   {"v_dot8_i32_i4", 4, true, false},    {"v_dot8_u32_u4", 4, false, false},
    {"v_dot2c_i32_i16", 16, true, false}, {"v_dot4c_i32_i8", 8, true, false},   {"v_dot8c_i32_i4", 4, true, false},
    {"v_dot4_i32_iu8", 8, true, true},    {"v_dot8_i32_iu4", 4, true, true}};

std::uint64_t run(const Dot& dot, const LaneSources& s, unsigned signed_sources, bool clamp) {
  const bool first = dot.by_neg ? (signed_sources & 1) != 0 : dot.is_signed;
  const bool second = dot.by_neg ? (signed_sources & 2) != 0 : dot.is_signed;
  Wide total = field(whole(s[2]), 32, dot.is_signed);
  for (unsigned at = 0; at < 32; at += dot.width)
    total += field(whole(s[0]) >> at, dot.width, first) * field(whole(s[1]) >> at, dot.width, second);
  return finish(total, 32, dot.is_signed, clamp);
}

}  // namespace

std::optional<std::vector<std::uint32_t>> integer_result(const VopForm& form, const LaneSources& s,
                                                         unsigned signed_sources, bool clamp) {
  const std::string_view name = form.opcode->name;
  const Wide a = whole(s[0]), b = whole(s[1]), c = whole(s[2]);
  for (const Operation& op : operations)
    if (op.name == name) return dwords(run(op, a, b, c, clamp), op.result_bits);
  for (const Operation& op : packed_operations)
    if (op.name == name) return dwords(run(op, a, b, c, clamp) | run(op, a >> 16, b >> 16, c >> 16, clamp) << 16, 32);
  for (const Dot& dot : dots)
    if (name == dot.stem) return dwords(run(dot, s, signed_sources, clamp), 32);
  return distance_result(form, s, clamp);
}

}  // namespace rapt::sim::test
