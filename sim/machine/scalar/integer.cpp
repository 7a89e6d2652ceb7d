// SOP1, SOP2, SOPK and SOPC on integers and bits (ISA documents, "Scalar ALU Operations"). SCC is the carry, the
// overflow, the comparison, or "the result is not zero", as each row says.
#include "sim/machine/scalar/scalar.hpp"

#include <bit>

namespace rapt::sim {
namespace {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// The overflow of a signed addition and subtraction.
constexpr bool added_over(u32 a, u32 b, u32 sum) { return ((~(a ^ b) & (a ^ sum)) >> 31) != 0; }
constexpr bool subtracted_over(u32 a, u32 b, u32 difference) { return (((a ^ b) & (a ^ difference)) >> 31) != 0; }

template <typename T>
T extract_unsigned(T value, u32 control) {
  const u32 shift = control & (sizeof(T) * 8 - 1);
  const u32 width = control >> 16 & 0x7f;
  const T shifted = value >> shift;
  return width >= sizeof(T) * 8 ? shifted : shifted & ((T{1} << width) - 1);
}

template <typename T>
T extract_signed(T value, u32 control) {
  const u32 shift = control & (sizeof(T) * 8 - 1);
  const u32 width = control >> 16 & 0x7f;
  if (width == 0) return 0;
  const auto shifted = static_cast<std::make_signed_t<T>>(value) >> shift;
  if (width >= sizeof(T) * 8) return static_cast<T>(shifted);
  const int spare = static_cast<int>(sizeof(T) * 8 - width);
  return static_cast<T>(static_cast<std::make_signed_t<T>>(static_cast<T>(shifted) << spare) >> spare);
}

template <typename T>
T bit_field_mask(u32 width, u32 shift) {
  constexpr u32 wrap = sizeof(T) * 8 - 1;
  return static_cast<T>(((T{1} << (width & wrap)) - 1) << (shift & wrap));
}

template <typename T>
T reversed(T value) {
  T result = 0;
  for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit) result |= (value >> bit & 1) << (sizeof(T) * 8 - 1 - bit);
  return result;
}

// Sets all bits of every group of four in which any bit is set.
template <typename T>
T quads(T value) {
  T any = 0;
  for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad) any |= static_cast<T>((value >> (4 * quad) & 15) != 0) << quad;
  return any;
}

template <typename T>
T whole_quads(T value) {
  T mask = 0;
  for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad)
    if (value >> (4 * quad) & 15) mask |= T{15} << (4 * quad);
  return mask;
}

template <typename T>
u32 first(T value) {
  return value == 0 ? ~0U : static_cast<u32>(std::countr_zero(value));
}

template <typename T>
u32 leading(T value) {
  return value == 0 ? ~0U : static_cast<u32>(std::countl_zero(value));
}

// The number of leading bits equal to the sign; none if all bits are.
template <typename T>
u32 leading_sign(T value) {
  const T flipped = static_cast<std::make_signed_t<T>>(value) < 0 ? static_cast<T>(~value) : value;
  return leading(flipped);
}

u64 replicated(u32 value) {
  u64 result = 0;
  for (unsigned bit = 0; bit < 32; ++bit) result |= u64{value >> bit & 1} * 3 << (2 * bit);
  return result;
}

template <typename T>
T nonzero(bool& scc, T result) {
  scc = result != 0;
  return result;
}

u32 tested_bit(const Wave& w, const Instruction& i) {
  return read_scalar32(w, i.src[0]) >> (read_scalar32(w, i.src[1]) & 31) & 1;
}

u64 tested_bit64(const Wave& w, const Instruction& i) {
  return read_scalar64(w, i.src[0]) >> (read_scalar32(w, i.src[1]) & 63) & 1;
}

template <unsigned Shift>
constexpr Handler shift_add() {
  return binary32([](bool& scc, u32 a, u32 b) {
    const u64 sum = (u64{a} << Shift) + b;
    return scc = sum >> 32 != 0, static_cast<u32>(sum);
  });
}

void register_moves(HandlerTable& t) {
  t.add("s_mov_b32", unary32([](bool&, u32 a) { return a; }));
  t.add("s_mov_b64", unary64([](bool&, u64 a) { return a; }));
  t.add("s_movk_i32", [](Wave& w, const Instruction& i) { write_scalar32(w, i.dst, static_cast<u32>(i.immediate)); });
  t.add("s_cmov_b32", [](Wave& w, const Instruction& i) {
    if (w.scc) write_scalar32(w, i.dst, read_scalar32(w, i.src[0]));
  });
  t.add("s_cmov_b64", [](Wave& w, const Instruction& i) {
    if (w.scc) write_scalar64(w, i.dst, read_scalar64(w, i.src[0]));
  });
  t.add("s_cmovk_i32", [](Wave& w, const Instruction& i) {
    if (w.scc) write_scalar32(w, i.dst, static_cast<u32>(i.immediate));
  });
  t.add("s_cselect_b32", binary32([](bool& scc, u32 a, u32 b) { return scc ? a : b; }));
  t.add("s_cselect_b64", binary64([](bool& scc, u64 a, u64 b) { return scc ? a : b; }));
}

void register_arithmetic(HandlerTable& t) {
  constexpr auto add_u32 = binary32([](bool& scc, u32 a, u32 b) { return scc = a + b < a, a + b; });
  constexpr auto sub_u32 = binary32([](bool& scc, u32 a, u32 b) { return scc = b > a, a - b; });
  constexpr auto add_i32 = binary32([](bool& scc, u32 a, u32 b) { return scc = added_over(a, b, a + b), a + b; });
  constexpr auto sub_i32 = binary32([](bool& scc, u32 a, u32 b) { return scc = subtracted_over(a, b, a - b), a - b; });
  constexpr auto addc = binary32([](bool& scc, u32 a, u32 b) {
    const u64 sum = u64{a} + b + scc;
    return scc = sum >> 32 != 0, static_cast<u32>(sum);
  });
  constexpr auto subb = binary32([](bool& scc, u32 a, u32 b) {
    const u64 taken = u64{b} + scc;
    return scc = taken > a, static_cast<u32>(a - taken);
  });
  constexpr auto addk = [](Wave& w, const Instruction& i) {
    const u32 a = read_scalar32(w, i.dst), b = static_cast<u32>(i.immediate);
    w.scc = added_over(a, b, a + b);
    write_scalar32(w, i.dst, a + b);
  };
  t.add("s_add_u32", add_u32), t.add("s_add_co_u32", add_u32);
  t.add("s_sub_u32", sub_u32), t.add("s_sub_co_u32", sub_u32);
  t.add("s_add_i32", add_i32), t.add("s_add_co_i32", add_i32);
  t.add("s_sub_i32", sub_i32), t.add("s_sub_co_i32", sub_i32);
  t.add("s_addc_u32", addc), t.add("s_add_co_ci_u32", addc);
  t.add("s_subb_u32", subb), t.add("s_sub_co_ci_u32", subb);
  t.add("s_addk_i32", addk), t.add("s_addk_co_i32", addk);
  t.add("s_mulk_i32", [](Wave& w, const Instruction& i) {
    write_scalar32(w, i.dst, read_scalar32(w, i.dst) * static_cast<u32>(i.immediate));
  });
  t.add("s_mul_i32", binary32([](bool&, u32 a, u32 b) { return a * b; }));
  t.add("s_mul_hi_u32", binary32([](bool&, u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }));
  t.add("s_mul_hi_i32", binary32([](bool&, u32 a, u32 b) {
          return static_cast<u32>(i64{static_cast<i32>(a)} * static_cast<i32>(b) >> 32);
        }));
  t.add("s_add_nc_u64", binary64([](bool&, u64 a, u64 b) { return a + b; }));
  t.add("s_sub_nc_u64", binary64([](bool&, u64 a, u64 b) { return a - b; }));
  t.add("s_mul_u64", binary64([](bool&, u64 a, u64 b) { return a * b; }));
  t.add("s_lshl1_add_u32", shift_add<1>());
  t.add("s_lshl2_add_u32", shift_add<2>());
  t.add("s_lshl3_add_u32", shift_add<3>());
  t.add("s_lshl4_add_u32", shift_add<4>());
  t.add("s_min_i32", binary32([](bool& scc, u32 a, u32 b) { return scc = i32(a) < i32(b), scc ? a : b; }));
  t.add("s_max_i32", binary32([](bool& scc, u32 a, u32 b) { return scc = i32(a) >= i32(b), scc ? a : b; }));
  t.add("s_min_u32", binary32([](bool& scc, u32 a, u32 b) { return scc = a < b, scc ? a : b; }));
  t.add("s_max_u32", binary32([](bool& scc, u32 a, u32 b) { return scc = a >= b, scc ? a : b; }));
  t.add("s_abs_i32", unary32([](bool& scc, u32 a) {
          const u32 size = i32(a) < 0 ? 0 - a : a;
          return scc = size != 0, size;
        }));
  t.add("s_absdiff_i32", binary32([](bool& scc, u32 a, u32 b) {
          const u32 difference = i32(a - b) < 0 ? b - a : a - b;
          return scc = difference != 0, difference;
        }));
  t.add("s_sext_i32_i8", unary32([](bool&, u32 a) { return static_cast<u32>(static_cast<std::int8_t>(a)); }));
  t.add("s_sext_i32_i16", unary32([](bool&, u32 a) { return static_cast<u32>(static_cast<std::int16_t>(a)); }));
}

template <typename Operation>
void add_logic(HandlerTable& t, std::string_view name32, std::string_view name64, Operation) {
  t.add(name32, binary32([](bool& scc, u32 a, u32 b) {
          const auto r = static_cast<u32>(Operation{}(a, b));
          return scc = r != 0, r;
        }));
  t.add(name64, binary64([](bool& scc, u64 a, u64 b) {
          const u64 r = Operation{}(a, b);
          return scc = r != 0, r;
        }));
}

void register_logic(HandlerTable& t) {
  add_logic(t, "s_and_b32", "s_and_b64", [](auto a, auto b) { return a & b; });
  add_logic(t, "s_or_b32", "s_or_b64", [](auto a, auto b) { return a | b; });
  add_logic(t, "s_xor_b32", "s_xor_b64", [](auto a, auto b) { return a ^ b; });
  add_logic(t, "s_andn2_b32", "s_andn2_b64", [](auto a, auto b) { return a & ~b; });
  add_logic(t, "s_and_not1_b32", "s_and_not1_b64", [](auto a, auto b) { return a & ~b; });
  add_logic(t, "s_orn2_b32", "s_orn2_b64", [](auto a, auto b) { return a | ~b; });
  add_logic(t, "s_or_not1_b32", "s_or_not1_b64", [](auto a, auto b) { return a | ~b; });
  add_logic(t, "s_nand_b32", "s_nand_b64", [](auto a, auto b) { return ~(a & b); });
  add_logic(t, "s_nor_b32", "s_nor_b64", [](auto a, auto b) { return ~(a | b); });
  add_logic(t, "s_xnor_b32", "s_xnor_b64", [](auto a, auto b) { return ~(a ^ b); });
  t.add("s_not_b32", unary32([](bool& scc, u32 a) { return scc = ~a != 0, ~a; }));
  t.add("s_not_b64", unary64([](bool& scc, u64 a) { return scc = ~a != 0, ~a; }));
  t.add("s_wqm_b32", unary32([](bool& scc, u32 a) { return scc = a != 0, whole_quads(a); }));
  t.add("s_wqm_b64", unary64([](bool& scc, u64 a) { return scc = a != 0, whole_quads(a); }));
  t.add("s_quadmask_b32", unary32([](bool& scc, u32 a) { return scc = a != 0, quads(a); }));
  t.add("s_quadmask_b64", unary64([](bool& scc, u64 a) { return scc = a != 0, quads(a); }));
}

void register_shifts(HandlerTable& t) {
  t.add("s_lshl_b32", binary32([](bool& scc, u32 a, u32 b) { return nonzero(scc, a << (b & 31)); }));
  t.add("s_lshr_b32", binary32([](bool& scc, u32 a, u32 b) { return nonzero(scc, a >> (b & 31)); }));
  t.add("s_ashr_i32",
        binary32([](bool& scc, u32 a, u32 b) { return nonzero(scc, static_cast<u32>(i32(a) >> (b & 31))); }));
  t.add("s_lshl_b64", shift64([](bool& scc, u64 a, u32 b) { return nonzero(scc, a << (b & 63)); }));
  t.add("s_lshr_b64", shift64([](bool& scc, u64 a, u32 b) { return nonzero(scc, a >> (b & 63)); }));
  t.add("s_ashr_i64",
        shift64([](bool& scc, u64 a, u32 b) { return nonzero(scc, static_cast<u64>(i64(a) >> (b & 63))); }));
  t.add("s_bfe_u32", binary32([](bool& scc, u32 a, u32 b) { return nonzero(scc, extract_unsigned(a, b)); }));
  t.add("s_bfe_i32", binary32([](bool& scc, u32 a, u32 b) { return nonzero(scc, extract_signed(a, b)); }));
  t.add("s_bfe_u64", shift64([](bool& scc, u64 a, u32 b) { return nonzero(scc, extract_unsigned(a, b)); }));
  t.add("s_bfe_i64", shift64([](bool& scc, u64 a, u32 b) { return nonzero(scc, extract_signed(a, b)); }));
  t.add("s_bfm_b32", binary32([](bool&, u32 a, u32 b) { return bit_field_mask<u32>(a, b); }));
  t.add("s_bfm_b64", [](Wave& w, const Instruction& i) {
    write_scalar64(w, i.dst, bit_field_mask<u64>(read_scalar32(w, i.src[0]), read_scalar32(w, i.src[1])));
  });
  t.add("s_pack_ll_b32_b16", binary32([](bool&, u32 a, u32 b) { return (a & 0xffff) | b << 16; }));
  t.add("s_pack_lh_b32_b16", binary32([](bool&, u32 a, u32 b) { return (a & 0xffff) | (b & 0xffff0000); }));
  t.add("s_pack_hh_b32_b16", binary32([](bool&, u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }));
  t.add("s_pack_hl_b32_b16", binary32([](bool&, u32 a, u32 b) { return a >> 16 | b << 16; }));
}

void register_bits(HandlerTable& t) {
  t.add("s_brev_b32", unary32([](bool&, u32 a) { return reversed(a); }));
  t.add("s_brev_b64", unary64([](bool&, u64 a) { return reversed(a); }));
  t.add("s_bcnt0_i32_b32", unary32([](bool& scc, u32 a) { return counted(scc, std::popcount(~a)); }));
  t.add("s_bcnt1_i32_b32", unary32([](bool& scc, u32 a) { return counted(scc, std::popcount(a)); }));
  t.add("s_bcnt0_i32_b64", narrow64([](bool& scc, u64 a) { return counted(scc, std::popcount(~a)); }));
  t.add("s_bcnt1_i32_b64", narrow64([](bool& scc, u64 a) { return counted(scc, std::popcount(a)); }));
  t.add("s_ff0_i32_b32", unary32([](bool&, u32 a) { return first(~a); }));
  t.add("s_ff0_i32_b64", narrow64([](bool&, u64 a) { return first(~a); }));
  for (const auto* name : {"s_ff1_i32_b32", "s_ctz_i32_b32"})
    t.add(name, unary32([](bool&, u32 a) { return first(a); }));
  for (const auto* name : {"s_ff1_i32_b64", "s_ctz_i32_b64"})
    t.add(name, narrow64([](bool&, u64 a) { return first(a); }));
  for (const auto* name : {"s_flbit_i32_b32", "s_clz_i32_u32"})
    t.add(name, unary32([](bool&, u32 a) { return leading(a); }));
  for (const auto* name : {"s_flbit_i32_b64", "s_clz_i32_u64"})
    t.add(name, narrow64([](bool&, u64 a) { return leading(a); }));
  for (const auto* name : {"s_flbit_i32", "s_cls_i32"})
    t.add(name, unary32([](bool&, u32 a) { return leading_sign(a); }));
  for (const auto* name : {"s_flbit_i32_i64", "s_cls_i32_i64"})
    t.add(name, narrow64([](bool&, u64 a) { return leading_sign(a); }));
  t.add("s_bitreplicate_b64_b32", widen32([](bool&, u32 a) { return replicated(a); }));
  t.add("s_bitset0_b32", [](Wave& w, const Instruction& i) {
    write_scalar32(w, i.dst, read_scalar32(w, i.dst) & ~(1U << (read_scalar32(w, i.src[0]) & 31)));
  });
  t.add("s_bitset1_b32", [](Wave& w, const Instruction& i) {
    write_scalar32(w, i.dst, read_scalar32(w, i.dst) | 1U << (read_scalar32(w, i.src[0]) & 31));
  });
  t.add("s_bitset0_b64", [](Wave& w, const Instruction& i) {
    write_scalar64(w, i.dst, read_scalar64(w, i.dst) & ~(u64{1} << (read_scalar32(w, i.src[0]) & 63)));
  });
  t.add("s_bitset1_b64", [](Wave& w, const Instruction& i) {
    write_scalar64(w, i.dst, read_scalar64(w, i.dst) | u64{1} << (read_scalar32(w, i.src[0]) & 63));
  });
}

template <typename Compare>
void add_comparison(HandlerTable& t, std::string_view sopc, std::string_view sopk, Compare) {
  t.add(sopc, [](Wave& w, const Instruction& i) {
    w.scc = Compare{}(read_scalar32(w, i.src[0]), read_scalar32(w, i.src[1]));
  });
  // SOPK compares its destination field; its 16 bits are signed only in the signed forms.
  t.add(sopk, [](Wave& w, const Instruction& i) {
    const bool is_unsigned = i.opcode->src[0] == Type::u32 || i.opcode->name.ends_with("_u32");
    const u32 immediate = is_unsigned ? static_cast<u32>(i.immediate) & 0xffff : static_cast<u32>(i.immediate);
    w.scc = Compare{}(read_scalar32(w, i.dst.kind == OperandKind::none ? i.src[0] : i.dst), immediate);
  });
}

void register_comparisons(HandlerTable& t) {
  add_comparison(t, "s_cmp_eq_i32", "s_cmpk_eq_i32", [](u32 a, u32 b) { return a == b; });
  add_comparison(t, "s_cmp_lg_i32", "s_cmpk_lg_i32", [](u32 a, u32 b) { return a != b; });
  add_comparison(t, "s_cmp_gt_i32", "s_cmpk_gt_i32", [](u32 a, u32 b) { return i32(a) > i32(b); });
  add_comparison(t, "s_cmp_ge_i32", "s_cmpk_ge_i32", [](u32 a, u32 b) { return i32(a) >= i32(b); });
  add_comparison(t, "s_cmp_lt_i32", "s_cmpk_lt_i32", [](u32 a, u32 b) { return i32(a) < i32(b); });
  add_comparison(t, "s_cmp_le_i32", "s_cmpk_le_i32", [](u32 a, u32 b) { return i32(a) <= i32(b); });
  add_comparison(t, "s_cmp_eq_u32", "s_cmpk_eq_u32", [](u32 a, u32 b) { return a == b; });
  add_comparison(t, "s_cmp_lg_u32", "s_cmpk_lg_u32", [](u32 a, u32 b) { return a != b; });
  add_comparison(t, "s_cmp_gt_u32", "s_cmpk_gt_u32", [](u32 a, u32 b) { return a > b; });
  add_comparison(t, "s_cmp_ge_u32", "s_cmpk_ge_u32", [](u32 a, u32 b) { return a >= b; });
  add_comparison(t, "s_cmp_lt_u32", "s_cmpk_lt_u32", [](u32 a, u32 b) { return a < b; });
  add_comparison(t, "s_cmp_le_u32", "s_cmpk_le_u32", [](u32 a, u32 b) { return a <= b; });
  t.add("s_cmp_eq_u64",
        [](Wave& w, const Instruction& i) { w.scc = read_scalar64(w, i.src[0]) == read_scalar64(w, i.src[1]); });
  t.add("s_cmp_lg_u64",
        [](Wave& w, const Instruction& i) { w.scc = read_scalar64(w, i.src[0]) != read_scalar64(w, i.src[1]); });
  t.add("s_bitcmp0_b32", [](Wave& w, const Instruction& i) { w.scc = tested_bit(w, i) == 0; });
  t.add("s_bitcmp1_b32", [](Wave& w, const Instruction& i) { w.scc = tested_bit(w, i) == 1; });
  t.add("s_bitcmp0_b64", [](Wave& w, const Instruction& i) { w.scc = tested_bit64(w, i) == 0; });
  t.add("s_bitcmp1_b64", [](Wave& w, const Instruction& i) { w.scc = tested_bit64(w, i) == 1; });
}

}  // namespace

void register_scalar(HandlerTable& table) {
  register_moves(table);
  register_arithmetic(table);
  register_logic(table);
  register_shifts(table);
  register_bits(table);
  register_comparisons(table);
  register_scalar_exec(table);
  register_scalar_float(table);
  register_scalar_memory(table);
}

}  // namespace rapt::sim
