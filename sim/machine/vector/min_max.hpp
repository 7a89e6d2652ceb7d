// Minimum, maximum and median of floating-point values, for VOP2, VOP3 and the packed operations.
#pragma once

#include "sim/machine/operands/valu.hpp"

namespace rapt::sim::valu {

// Numbers in their order as signed integers; -0 is less than +0.
template <class T>
auto rank(T x) {
  using Signed = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;
  const auto bits = std::bit_cast<Signed>(x);
  return bits ^ ((bits >> (8 * sizeof(T) - 1)) & std::numeric_limits<Signed>::max());
}
template <bool max, class T>
T of_numbers(T a, T b) {
  return (rank(a) > rank(b)) == max ? a : b;
}

// The ISA documents' V_MAX_F32 and V_MIN_F32: a number wins over a NaN; a signalling NaN is quieted if MODE.IEEE is
// set. If both are NaN, CDNA takes the second, RDNA3 the first, and RDNA4's V_MAX_NUM_F32 (no IEEE bit) the first,
// quieted. Without branches, so that loops are vectorised.
template <bool max, class T>
T number(const Wave& w, T a, T b) {
  const bool rdna4 = contains(gfx12, w.arch), first_nan = is_rdna(w.arch);
  const bool ieee = !rdna4 & ((w.mode & mode::ieee) != 0);
  const bool a_nan = a != a, b_nan = b != b;
  T result = of_numbers<max>(a, b);
  result = b_nan & (!a_nan | first_nan) ? a : result;
  result = a_nan & (!b_nan | !first_nan) ? b : result;
  result = a_nan & b_nan & rdna4 ? quiet(a) : result;
  result = is_signalling(b) & ieee ? quiet(b) : result;
  return is_signalling(a) & ieee ? quiet(a) : result;
}

// IEEE 754-2019's maximum and minimum: a NaN wins, a signalling one before a quiet one.
template <bool max, class T>
T propagating(T a, T b) {
  T result = of_numbers<max>(a, b);
  result = b != b ? quiet(b) : result;
  result = a != a ? quiet(a) : result;
  return is_signalling(b) & !is_signalling(a) ? quiet(b) : result;
}

inline constexpr auto min_number = [](const Wave& w, auto a, auto b) { return number<false>(w, a, b); };
inline constexpr auto max_number = [](const Wave& w, auto a, auto b) { return number<true>(w, a, b); };
inline constexpr auto min_propagating = [](const Wave&, auto a, auto b) { return propagating<false>(a, b); };
inline constexpr auto max_propagating = [](const Wave&, auto a, auto b) { return propagating<true>(a, b); };
inline constexpr auto median = [](const Wave& w, auto a, auto b, auto c) {
  const auto greatest = max_number(w, max_number(w, a, b), c);
  const auto of_the_rest = greatest == a   ? max_number(w, b, c)
                           : greatest == b ? max_number(w, a, c)
                                           : max_number(w, a, b);
  return (a != a) | (b != b) | (c != c) ? min_number(w, min_number(w, a, b), c) : of_the_rest;
};
// first(a, b), then second with c.
template <class First, class Second>
inline constexpr auto then(First, Second) {
  return [](const Wave& w, auto a, auto b, auto c) { return Second{}(w, First{}(w, a, b), c); };
}

}  // namespace rapt::sim::valu
