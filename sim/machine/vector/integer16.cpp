// 16-bit integer arithmetic, logic and shifts. C++ computes it in int, so results are saturated with CLAMP like the
// wider ones.
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

using U = std::uint16_t;
using I = std::int16_t;

constexpr auto sum = [](auto a, auto b) { return a + b; };
constexpr auto difference = [](auto a, auto b) { return a - b; };
constexpr auto reverse_difference = [](auto a, auto b) { return b - a; };
constexpr auto product = [](U a, U b) { return static_cast<U>(std::uint32_t{a} * b); };
constexpr auto multiply_add_u = [](U a, U b, U c) { return std::uint64_t{a} * b + c; };
constexpr auto multiply_add_i = [](I a, I b, I c) { return std::int64_t{a} * b + c; };
constexpr auto least = [](auto a, auto b) { return a < b ? a : b; };
constexpr auto greatest = [](auto a, auto b) { return a > b ? a : b; };
constexpr auto least3 = [](auto a, auto b, auto c) { return least(least(a, b), c); };
constexpr auto greatest3 = [](auto a, auto b, auto c) { return greatest(greatest(a, b), c); };
constexpr auto median = [](auto a, auto b, auto c) { return greatest(least(a, b), least(greatest(a, b), c)); };

constexpr Options keep{.keep_half = true};  // the operations that gfx9 has only in VOP3, with op_sel

}  // namespace

void register_integer16(HandlerTable& t) {
  add<u16(u16, u16)>(t, "v_add_u16", sum);
  add<u16(u16, u16)>(t, "v_sub_u16", difference);
  add<u16(u16, u16)>(t, "v_subrev_u16", reverse_difference);
  add<u16(u16, u16)>(t, "v_add_nc_u16", sum);
  add<u16(u16, u16)>(t, "v_sub_nc_u16", difference);
  add<i16(i16, i16), keep>(t, "v_add_i16", sum);
  add<i16(i16, i16), keep>(t, "v_sub_i16", difference);
  add<i16(i16, i16)>(t, "v_add_nc_i16", sum);
  add<i16(i16, i16)>(t, "v_sub_nc_i16", difference);
  add<u16(u16, u16)>(t, "v_mul_lo_u16", product);
  add<u16(u16, u16, u16), keep>(t, "v_mad_u16", multiply_add_u);
  add<i16(i16, i16, i16), keep>(t, "v_mad_i16", multiply_add_i);
  add<u16(u16, u16, u16)>(t, "v_mad_legacy_u16", multiply_add_u);
  add<i16(i16, i16, i16)>(t, "v_mad_legacy_i16", multiply_add_i);

  add<u16(u16, u16)>(t, "v_min_u16", least);
  add<u16(u16, u16)>(t, "v_max_u16", greatest);
  add<i16(i16, i16)>(t, "v_min_i16", least);
  add<i16(i16, i16)>(t, "v_max_i16", greatest);
  add<u16(u16, u16, u16), keep>(t, "v_min3_u16", least3);
  add<u16(u16, u16, u16), keep>(t, "v_max3_u16", greatest3);
  add<u16(u16, u16, u16), keep>(t, "v_med3_u16", median);
  add<i16(i16, i16, i16), keep>(t, "v_min3_i16", least3);
  add<i16(i16, i16, i16), keep>(t, "v_max3_i16", greatest3);
  add<i16(i16, i16, i16), keep>(t, "v_med3_i16", median);

  add<b16(b16, b16)>(t, "v_and_b16", [](U a, U b) { return static_cast<U>(a & b); });
  add<b16(b16, b16)>(t, "v_or_b16", [](U a, U b) { return static_cast<U>(a | b); });
  add<b16(b16, b16)>(t, "v_xor_b16", [](U a, U b) { return static_cast<U>(a ^ b); });
  add<b16(b16)>(t, "v_not_b16", [](U a) { return static_cast<U>(~a); });
  add<b16(u16, b16)>(t, "v_lshlrev_b16", [](U shift, U x) { return static_cast<U>(x << (shift & 15)); });
  add<b16(u16, b16)>(t, "v_lshrrev_b16", [](U shift, U x) { return static_cast<U>(x >> (shift & 15)); });
  add<i16(u16, i16)>(t, "v_ashrrev_i16", [](U shift, I x) { return static_cast<I>(x >> (shift & 15)); });
}

}  // namespace rapt::sim::valu
