// Minimum, maximum and median of floating point values.
#include "sim/machine/valu.hpp"
#include "sim/machine/valu_tables.hpp"

namespace rapt::sim::valu {
namespace {

// -0 is less than +0 everywhere.
template <bool max, class T>
T of_numbers(T a, T b) {
  const bool first = a == b ? std::signbit(a) != max : (a > b) == max;
  return first ? a : b;
}

// The ISA documents' V_MAX_F32 and V_MIN_F32: a number wins over a NaN; a signalling NaN comes out quieted where
// MODE.IEEE is set. Of two NaNs CDNA takes the second, RDNA3 the first, and RDNA4's V_MAX_NUM_F32 (no IEEE bit) the
// first, quieted.
template <bool max, class T>
T number(const Wave& w, T a, T b) {
  const bool rdna4 = contains(gfx12, w.arch), first_nan = is_rdna(w.arch), ieee = !rdna4 && (w.mode & mode::ieee) != 0;
  const bool a_nan = a != a, b_nan = b != b;
  const T nan = rdna4 ? quiet(a) : first_nan ? a : b;
  T result = of_numbers<max>(a, b);
  result = b_nan ? a : result;
  result = a_nan ? b : result;
  result = a_nan && b_nan ? nan : result;
  result = ieee && is_signalling(b) ? quiet(b) : result;
  return ieee && is_signalling(a) ? quiet(a) : result;
}

// IEEE 754-2019's maximum and minimum: a NaN wins, a signalling one before a quiet one.
template <bool max, class T>
T propagating(T a, T b) {
  T result = of_numbers<max>(a, b);
  result = b != b ? quiet(b) : result;
  result = a != a ? quiet(a) : result;
  return is_signalling(b) && !is_signalling(a) ? quiet(b) : result;
}

constexpr auto min_number = [](const Wave& w, auto a, auto b) { return number<false>(w, a, b); };
constexpr auto max_number = [](const Wave& w, auto a, auto b) { return number<true>(w, a, b); };
constexpr auto min_propagating = [](const Wave&, auto a, auto b) { return propagating<false>(a, b); };
constexpr auto max_propagating = [](const Wave&, auto a, auto b) { return propagating<true>(a, b); };
constexpr auto median = [](const Wave& w, auto a, auto b, auto c) {
  const auto greatest = max_number(w, max_number(w, a, b), c);
  const auto of_the_rest = greatest == a   ? max_number(w, b, c)
                           : greatest == b ? max_number(w, a, c)
                                           : max_number(w, a, b);
  return a != a || b != b || c != c ? min_number(w, min_number(w, a, b), c) : of_the_rest;
};
// first(a, b), then second with c.
template <class First, class Second>
constexpr auto then(First, Second) {
  return [](const Wave& w, auto a, auto b, auto c) { return Second{}(w, First{}(w, a, b), c); };
}

constexpr Options selects{.own_nan = true, .keeps_denormal = true};
constexpr Options selects_in_vop3{.keep_half = true, .own_nan = true, .keeps_denormal = true};

template <class T>
struct Names {  // of one type
  std::string_view min, max, min_num, max_num, minimum, maximum;
};
template <class T>
void add_pairs(HandlerTable& t, Names<T> n) {
  add<T(T, T), selects>(t, n.min, min_number);
  add<T(T, T), selects>(t, n.max, max_number);
  add<T(T, T), selects>(t, n.min_num, min_number);
  add<T(T, T), selects>(t, n.max_num, max_number);
  add<T(T, T), selects>(t, n.minimum, min_propagating);
  add<T(T, T), selects>(t, n.maximum, max_propagating);
}

template <class T, class F>
void add3(HandlerTable& t, std::string_view name, F f) {
  add<T(T, T, T), selects_in_vop3>(t, name, f);
}

}  // namespace

void register_min_max(HandlerTable& t) {
  add_pairs<f32>(t, {"v_min_f32", "v_max_f32", "v_min_num_f32", "v_max_num_f32", "v_minimum_f32", "v_maximum_f32"});
  add_pairs<f16>(t, {"v_min_f16", "v_max_f16", "v_min_num_f16", "v_max_num_f16", "v_minimum_f16", "v_maximum_f16"});
  add_pairs<f64>(t, {"v_min_f64", "v_max_f64", "v_min_num_f64", "v_max_num_f64", "v_minimum_f64", "v_maximum_f64"});

  add3<f32>(t, "v_min3_f32", then(min_number, min_number));
  add3<f32>(t, "v_max3_f32", then(max_number, max_number));
  add3<f32>(t, "v_med3_f32", median);
  add3<f32>(t, "v_minmax_f32", then(min_number, max_number));
  add3<f32>(t, "v_maxmin_f32", then(max_number, min_number));
  add3<f32>(t, "v_min3_num_f32", then(min_number, min_number));
  add3<f32>(t, "v_max3_num_f32", then(max_number, max_number));
  add3<f32>(t, "v_med3_num_f32", median);
  add3<f32>(t, "v_minmax_num_f32", then(min_number, max_number));
  add3<f32>(t, "v_maxmin_num_f32", then(max_number, min_number));
  add3<f32>(t, "v_minimum3_f32", then(min_propagating, min_propagating));
  add3<f32>(t, "v_maximum3_f32", then(max_propagating, max_propagating));
  add3<f32>(t, "v_minimummaximum_f32", then(min_propagating, max_propagating));
  add3<f32>(t, "v_maximumminimum_f32", then(max_propagating, min_propagating));

  add3<f16>(t, "v_min3_f16", then(min_number, min_number));
  add3<f16>(t, "v_max3_f16", then(max_number, max_number));
  add3<f16>(t, "v_med3_f16", median);
  add3<f16>(t, "v_minmax_f16", then(min_number, max_number));
  add3<f16>(t, "v_maxmin_f16", then(max_number, min_number));
  add3<f16>(t, "v_min3_num_f16", then(min_number, min_number));
  add3<f16>(t, "v_max3_num_f16", then(max_number, max_number));
  add3<f16>(t, "v_med3_num_f16", median);
  add3<f16>(t, "v_minmax_num_f16", then(min_number, max_number));
  add3<f16>(t, "v_maxmin_num_f16", then(max_number, min_number));
  add3<f16>(t, "v_minimum3_f16", then(min_propagating, min_propagating));
  add3<f16>(t, "v_maximum3_f16", then(max_propagating, max_propagating));
  add3<f16>(t, "v_minimummaximum_f16", then(min_propagating, max_propagating));
  add3<f16>(t, "v_maximumminimum_f16", then(max_propagating, min_propagating));
}

}  // namespace rapt::sim::valu
