// Dot products of integers.
#include "sim/machine/packed/dot.hpp"

#include <algorithm>
#include <limits>

namespace rapt::sim::packed {

namespace {

// Two, four or eight elements of each source and a 32-bit sum, which wraps or, with CLAMP, saturates. `by_neg`: neg
// says which source is signed (RDNA3 document, "V_DOT4...IU... with NEG"). Two elements are selected by op_sel.
template <unsigned size, bool is_signed, bool by_neg, unsigned N>
void integer_dot(Wave& w, const Instruction& i) {
  if (valu::run_indexed(w, i, integer_dot<size, is_signed, by_neg, N>)) [[unlikely]]
    return;
  alignas(64) Row<N> scratch[3], out;
  const std::uint32_t* rows[3];
  for (unsigned k = 0; k < 3; ++k) rows[k] = word_source<N>(w, i, k, 0, scratch[k]);
  const bool first_signed = by_neg ? (i.neg & 1) != 0 : is_signed,
             second_signed = by_neg ? (i.neg & 2) != 0 : is_signed;
  const bool result_signed = by_neg || is_signed;
  const bool selects = size == 16 && has_packed_fields(i);
  for (unsigned l = 0; l < N; ++l) {
    std::int64_t sum = result_signed ? std::int64_t{static_cast<std::int32_t>(rows[2][l])} : std::int64_t{rows[2][l]};
    for (unsigned e = 0; e < 32 / size; ++e) {
      const auto element = [&](unsigned k, bool with_sign) {
        const unsigned at = selects ? (fields(i, e != 0).select >> k & 1) : e;
        const std::uint32_t v = rows[k][l] << (32 - size * (at + 1));
        return with_sign ? std::int64_t{static_cast<std::int32_t>(v) >> (32 - size)} : std::int64_t{v >> (32 - size)};
      };
      sum += element(0, first_signed) * element(1, second_signed);
    }
    if (i.clamp)
      sum = result_signed ? std::clamp<std::int64_t>(sum, std::numeric_limits<std::int32_t>::min(),
                                                     std::numeric_limits<std::int32_t>::max())
                          : std::min<std::int64_t>(sum, std::numeric_limits<std::uint32_t>::max());
    out[l] = static_cast<std::uint32_t>(sum);
  }
  write_lanes<N>(w, i, out);
}

template <unsigned size, bool is_signed, bool by_neg = false>
void add_integer(HandlerTable& t, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    t.add(name, integer_dot<size, is_signed, by_neg, 32>, integer_dot<size, is_signed, by_neg, 64>);
}

}  // namespace

void register_dot(HandlerTable& t) {
  add_integer<16, true>(t, {"v_dot2_i32_i16", "v_dot2c_i32_i16"});
  add_integer<16, false>(t, {"v_dot2_u32_u16"});
  add_integer<8, true>(t, {"v_dot4_i32_i8", "v_dot4c_i32_i8"});
  add_integer<8, false>(t, {"v_dot4_u32_u8"});
  add_integer<4, true>(t, {"v_dot8_i32_i4", "v_dot8c_i32_i4"});
  add_integer<4, false>(t, {"v_dot8_u32_u4"});
  add_integer<8, true, true>(t, {"v_dot4_i32_iu8"});
  add_integer<4, true, true>(t, {"v_dot8_i32_iu4"});
  register_float_dot(t);
}

}  // namespace rapt::sim::packed
