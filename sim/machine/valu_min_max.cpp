// Minimum, maximum and median of floating point values.
#include "sim/machine/valu_min_max.hpp"
#include "sim/machine/valu_tables.hpp"

namespace rapt::sim::valu {
namespace {

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
