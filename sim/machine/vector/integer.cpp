// 32-bit integer arithmetic. 64-bit results are saturated with CLAMP and truncated without it.
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

using U = std::uint32_t;
using I = std::int32_t;
using Wide = std::int64_t;
using WideU = std::uint64_t;

constexpr auto sum_u = [](U a, U b) { return WideU{a} + b; };
constexpr auto difference_u = [](U a, U b) { return Wide{a} - Wide{b}; };
constexpr auto reverse_difference_u = [](U a, U b) { return Wide{b} - Wide{a}; };
constexpr auto sum_i = [](I a, I b) { return Wide{a} + b; };
constexpr auto difference_i = [](I a, I b) { return Wide{a} - b; };

constexpr auto low24 = [](U x) { return x & 0xffffff; };
constexpr auto signed24 = [](U x) { return static_cast<I>(x << 8) >> 8; };

constexpr auto least = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto greatest = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto least3 = [](auto a, auto b, auto c) { return least(least(a, b), c); };
constexpr auto greatest3 = [](auto a, auto b, auto c) { return greatest(greatest(a, b), c); };
constexpr auto median = [](auto a, auto b, auto c) { return greatest(least(a, b), least(greatest(a, b), c)); };
constexpr auto least_then_greatest = [](auto a, auto b, auto c) { return greatest(least(a, b), c); };
constexpr auto greatest_then_least = [](auto a, auto b, auto c) { return least(greatest(a, b), c); };

void register_sums(HandlerTable& t) {
  add<u32(u32, u32)>(t, "v_add_u32", sum_u);
  add<u32(u32, u32)>(t, "v_sub_u32", difference_u);
  add<u32(u32, u32)>(t, "v_subrev_u32", reverse_difference_u);
  add<u32(u32, u32)>(t, "v_add_nc_u32", sum_u);
  add<u32(u32, u32)>(t, "v_sub_nc_u32", difference_u);
  add<u32(u32, u32)>(t, "v_subrev_nc_u32", reverse_difference_u);
  add<i32(i32, i32)>(t, "v_add_i32", sum_i);
  add<i32(i32, i32)>(t, "v_sub_i32", difference_i);
  add<i32(i32, i32)>(t, "v_add_nc_i32", sum_i);
  add<i32(i32, i32)>(t, "v_sub_nc_i32", difference_i);
  add<u32(u32, u32, u32)>(t, "v_add3_u32", [](U a, U b, U c) { return a + b + c; });
  add<u32(u32, u32, u32)>(t, "v_xad_u32", [](U a, U b, U c) { return (a ^ b) + c; });
  add<u32(u32, u32, u32)>(t, "v_lshl_add_u32", [](U a, U b, U c) { return (a << (b & 31)) + c; });
  add<u32(u32, u32, u32)>(t, "v_add_lshl_u32", [](U a, U b, U c) { return (a + b) << (c & 31); });
}

void register_products(HandlerTable& t) {
  add<u32(u32, u32)>(t, "v_mul_lo_u32", [](U a, U b) { return a * b; });
  add<u32(u32, u32)>(t, "v_mul_hi_u32", [](U a, U b) { return static_cast<U>(WideU{a} * b >> 32); });
  add<i32(i32, i32)>(t, "v_mul_hi_i32", [](I a, I b) { return static_cast<I>(Wide{a} * b >> 32); });
  add<u32(u32, u32)>(t, "v_mul_u32_u24", [](U a, U b) { return WideU{low24(a)} * low24(b); });
  add<i32(u32, u32)>(t, "v_mul_i32_i24", [](U a, U b) { return Wide{signed24(a)} * signed24(b); });
  add<u32(u32, u32)>(t, "v_mul_hi_u32_u24", [](U a, U b) { return static_cast<U>(WideU{low24(a)} * low24(b) >> 32); });
  add<i32(u32, u32)>(t, "v_mul_hi_i32_i24",
                     [](U a, U b) { return static_cast<I>(Wide{signed24(a)} * signed24(b) >> 32); });
  add<u32(u32, u32, u32)>(t, "v_mad_u32_u24", [](U a, U b, U c) { return WideU{low24(a)} * low24(b) + c; });
  add<i32(u32, u32, i32)>(t, "v_mad_i32_i24", [](U a, U b, I c) { return Wide{signed24(a)} * signed24(b) + c; });
  add<u32(u16, u16, u32)>(t, "v_mad_u32_u16", [](U a, U b, U c) { return WideU{a} * b + c; });
  add<i32(i16, i16, i32)>(t, "v_mad_i32_i16", [](I a, I b, I c) { return Wide{a} * b + c; });
}

void register_order(HandlerTable& t) {
  add<u32(u32, u32)>(t, "v_min_u32", least);
  add<u32(u32, u32)>(t, "v_max_u32", greatest);
  add<i32(i32, i32)>(t, "v_min_i32", least);
  add<i32(i32, i32)>(t, "v_max_i32", greatest);
  add<u32(u32, u32, u32)>(t, "v_min3_u32", least3);
  add<u32(u32, u32, u32)>(t, "v_max3_u32", greatest3);
  add<u32(u32, u32, u32)>(t, "v_med3_u32", median);
  add<i32(i32, i32, i32)>(t, "v_min3_i32", least3);
  add<i32(i32, i32, i32)>(t, "v_max3_i32", greatest3);
  add<i32(i32, i32, i32)>(t, "v_med3_i32", median);
  add<u32(u32, u32, u32)>(t, "v_minmax_u32", least_then_greatest);
  add<u32(u32, u32, u32)>(t, "v_maxmin_u32", greatest_then_least);
  add<i32(i32, i32, i32)>(t, "v_minmax_i32", least_then_greatest);
  add<i32(i32, i32, i32)>(t, "v_maxmin_i32", greatest_then_least);
}

}  // namespace

void register_integer(HandlerTable& t) {
  register_sums(t);
  register_products(t);
  register_order(t);
  // One step of a linear feedback shift register (CDNA4 ISA).
  add<u32(u32)>(t, "v_prng_b32", [](U x) { return x << 1 ^ (x >> 31) * 197; });
}

}  // namespace rapt::sim::valu
