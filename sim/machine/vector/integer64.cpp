// 64-bit integers. Multiplications that carry out are in carry.cpp.
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {

void register_integer64(HandlerTable& t) {
  using U = std::uint64_t;
  constexpr auto left = [](std::uint32_t shift, U x) { return x << (shift & 63); };
  add<b64(u32, b64)>(t, "v_lshlrev_b64", left);
  add<b64(u32, b64)>(t, "v_lshrrev_b64", [](std::uint32_t shift, U x) { return x >> (shift & 63); });
  add<i64(u32, i64)>(t, "v_ashrrev_i64", [](std::uint32_t shift, std::int64_t x) { return x >> (shift & 63); });
  // CDNA4 ISA: the shift's three low bits are used, and values above 4 shift by 0.
  add<u64(u64, u32, u64)>(t, "v_lshl_add_u64",
                          [](U x, std::uint32_t shift, U y) { return (x << ((shift & 7) <= 4 ? shift & 7 : 0)) + y; });
}

}  // namespace rapt::sim::valu
