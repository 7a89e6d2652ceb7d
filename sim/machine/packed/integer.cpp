// v_pk_* on 16-bit integers. Sums and products have 32 bits and are truncated or, with CLAMP, saturated.
#include "sim/machine/packed/lanes.hpp"

#include <algorithm>

namespace rapt::sim::packed {

void register_integer(HandlerTable& t) {
  using valu::i16;
  using valu::u16;
  add<i16, 3>(t, "v_pk_mad_i16", [](std::int64_t a, std::int64_t b, std::int64_t c) { return a * b + c; });
  add<u16, 3>(t, "v_pk_mad_u16", [](std::int64_t a, std::int64_t b, std::int64_t c) { return a * b + c; });
  add<u16, 2>(t, "v_pk_mul_lo_u16", [](std::uint32_t a, std::uint32_t b) { return static_cast<std::uint16_t>(a * b); });
  add<i16, 2>(t, "v_pk_add_i16", [](std::int32_t a, std::int32_t b) { return a + b; });
  add<i16, 2>(t, "v_pk_sub_i16", [](std::int32_t a, std::int32_t b) { return a - b; });
  add<u16, 2>(t, "v_pk_add_u16", [](std::int32_t a, std::int32_t b) { return a + b; });
  add<u16, 2>(t, "v_pk_sub_u16", [](std::int32_t a, std::int32_t b) { return a - b; });
  add<i16, 2>(t, "v_pk_min_i16", [](std::int16_t a, std::int16_t b) { return std::min(a, b); });
  add<i16, 2>(t, "v_pk_max_i16", [](std::int16_t a, std::int16_t b) { return std::max(a, b); });
  add<u16, 2>(t, "v_pk_min_u16", [](std::uint16_t a, std::uint16_t b) { return std::min(a, b); });
  add<u16, 2>(t, "v_pk_max_u16", [](std::uint16_t a, std::uint16_t b) { return std::max(a, b); });
  // The first source's lowest four bits are the number of bits to shift.
  add<u16, 2>(t, "v_pk_lshlrev_b16",
              [](std::uint16_t n, std::uint16_t v) { return static_cast<std::uint16_t>(v << (n & 15)); });
  add<u16, 2>(t, "v_pk_lshrrev_b16",
              [](std::uint16_t n, std::uint16_t v) { return static_cast<std::uint16_t>(v >> (n & 15)); });
  add<i16, 2>(t, "v_pk_ashrrev_i16",
              [](std::int16_t n, std::int16_t v) { return static_cast<std::int16_t>(v >> (n & 15)); });
}

}  // namespace rapt::sim::packed
