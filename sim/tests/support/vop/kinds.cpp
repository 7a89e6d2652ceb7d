#include "sim/tests/support/vop/kinds.hpp"

#include <algorithm>
#include <map>

namespace rapt::sim::test {
namespace {

constexpr ValueKind integer16{Element::integer, 16}, integer32{Element::integer, 32}, mask{Element::other, 32};

const std::map<std::string_view, ValueKind>& kinds_by_name() {
  static const std::map<std::string_view, ValueKind> kinds = {{"f16", {Element::f16, 16}},
                                                              {"bf16", {Element::bf16, 16}},
                                                              {"f32", {Element::f32, 32}},
                                                              {"f64", {Element::f64, 64}},
                                                              {"i16", integer16},
                                                              {"u16", integer16},
                                                              {"b16", integer16},
                                                              {"i32", integer32},
                                                              {"u32", integer32},
                                                              {"b32", integer32},
                                                              {"i24", integer32},
                                                              {"u24", integer32},
                                                              {"i64", {Element::integer, 64}},
                                                              {"u64", {Element::integer, 64}},
                                                              {"b64", {Element::integer, 64}},
                                                              {"u8", {}},
                                                              {"i8", {}},
                                                              {"i4", {}},
                                                              {"u4", {}},
                                                              {"iu8", {}},
                                                              {"iu4", {}},
                                                              {"fp8", {}},
                                                              {"bf8", {}},
                                                              {"fp4", {}},
                                                              {"fp6", {}},
                                                              {"bf6", {}},
                                                              {"ubyte0", {}},
                                                              {"ubyte1", {}},
                                                              {"ubyte2", {}},
                                                              {"ubyte3", {}}};
  return kinds;
}

// The types that a name has, in order: v_cvt_f16_u16 has f16 and u16.
std::vector<ValueKind> types_of(std::string_view name) {
  std::vector<ValueKind> types;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    const auto found = kinds_by_name().find(name.substr(0, end));
    if (found != kinds_by_name().end()) types.push_back(found->second);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return types;
}

ValueKind as_pair(ValueKind kind) {
  kind.pair = true;
  return kind;
}

struct Exception {
  std::string_view stem;
  unsigned number;
  ValueKind kind;
};
// Sources whose type is not the last one in the name: exponents, classes, shift counts, seeds of stochastic rounding,
// scales, the third source of a widening multiply-add, lane masks.
constexpr Exception exceptions[] = {
    {"v_ldexp_f16", 1, integer16},
    {"v_ldexp_", 1, integer32},
    {"v_trig_preop_", 1, integer32},
    {"v_cvt_pk_u8_f32", 1, integer32},
    {"v_cvt_pk_u8_f32", 2, integer32},
    {"v_cvt_pkaccum_u8_f32", 1, integer32},
    {"v_cvt_sr_", 1, integer32},
    {"v_mad_u32_u16", 2, integer32},
    {"v_mad_i32_i16", 2, integer32},
    {"v_cndmask_", 2, mask},
    {"v_lshlrev_b64", 0, integer32},
    {"v_lshrrev_b64", 0, integer32},
    {"v_ashrrev_i64", 0, integer32},
    {"v_sat_pk_u8_i16", 0, {Element::integer, 16, true}},
    {"v_dot2_f32_", 2, {Element::f32, 32}},
    {"v_dot2_i32_", 2, integer32},
    {"v_dot2_u32_", 2, integer32},
    {"v_dot4_f32_", 2, {Element::f32, 32}},
    {"v_dot4_i32_", 2, integer32},
    {"v_dot4_u32_", 2, integer32},
    {"v_dot8_i32_", 2, integer32},
    {"v_dot8_u32_", 2, integer32},
};

// gfx950's scaled conversions: values, random bits where the rounding is stochastic, and a scale, whose sign is not
// used.
ValueKind scaled_kind(const VopForm& form, unsigned number) {
  if (form.has("pk32") || form.has("2xpk16")) return {};
  const ValueKind value = types_of(form.opcode->name).back();
  const bool pair = form.has("pk"), random = form.has("sr");
  if (number == 0) return pair && (value.bits == 16 || random) ? as_pair(value) : value;
  return number == 1 && pair && !random && value.bits == 32 ? value : integer32;
}

}  // namespace

ValueKind source_kind(const VopForm& form, unsigned number) {
  if (form.is_matrix()) return {};
  if (form.starts_with("v_cvt_scalef32_")) return scaled_kind(form, number);
  for (const Exception& e : exceptions)
    if (e.number == number && form.starts_with(e.stem)) return e.kind;
  // v_cmp_class_f16: the classes are 16 bits from gfx11 on.
  if (form.has("class") && number == 1) return form.has("f16") && is_rdna(form.arch) ? integer16 : integer32;
  if (form.starts_with("v_align") && number == 2) return integer16;
  const std::vector<ValueKind> types = types_of(form.opcode->name);
  if (types.empty()) return {};
  const bool halves = form.starts_with("v_pk_") || (form.has("dot2") && number < 2) || form.starts_with("v_dot2c_") ||
                      form.starts_with("v_dot2acc_");
  return halves ? as_pair(types.back()) : types.back();
}

ValueKind result_kind(const VopForm& form) {
  if (form.starts_with("v_cmp") || form.is_matrix()) return {};
  const std::vector<ValueKind> types = types_of(form.opcode->name);
  if (types.empty()) return {};
  // One byte, or two, whose place in the register op_sel selects.
  if (form.has("sr") && (form.has("fp8") || form.has("bf8"))) return {Element::other, 8};
  if (form.starts_with("v_cvt_scalef32_") && types.front().element == Element::other)
    return {Element::other, form.has("pk32") || form.has("2xpk16") ? 32U : form.has("fp4") ? 8U : 16U};
  for (const std::string_view stem : {"v_cvt_pk_fp8_", "v_cvt_pk_bf8_", "v_sat_pk_u8_", "v_ashr_pk_"})
    if (form.starts_with(stem)) return {Element::other, 16};
  const bool pair = form.starts_with("v_pk_") || form.has("pk") || form.has("pkrtz") || form.has("pknorm");
  if (form.starts_with("v_pack_b32_")) return as_pair(types.back());
  return pair ? as_pair(types.front()) : types.front();
}

}  // namespace rapt::sim::test
