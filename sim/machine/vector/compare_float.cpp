// Comparisons of floating-point values. A relation with a NaN is false; those named with n are negated.
#include "sim/machine/vector/compare.hpp"
#include "sim/machine/operands/tables.hpp"

#include <deque>
#include <string>

namespace rapt::sim::valu {

std::string_view comparison_name(std::string_view prefix, std::string_view relation, std::string_view type) {
  static std::deque<std::string> names;
  return names.emplace_back(std::string(prefix).append(relation).append("_").append(type));
}

namespace {

template <class T>
void add_relations(HandlerTable& t, std::string_view type) {
  add_relation<T>(t, "f", type, [](auto, auto) { return false; });
  add_relation<T>(t, "lt", type, [](auto a, auto b) { return a < b; });
  add_relation<T>(t, "eq", type, [](auto a, auto b) { return a == b; });
  add_relation<T>(t, "le", type, [](auto a, auto b) { return a <= b; });
  add_relation<T>(t, "gt", type, [](auto a, auto b) { return a > b; });
  add_relation<T>(t, "lg", type, [](auto a, auto b) { return a < b || a > b; });
  add_relation<T>(t, "ge", type, [](auto a, auto b) { return a >= b; });
  add_relation<T>(t, "o", type, [](auto a, auto b) { return a == a && b == b; });
  add_relation<T>(t, "u", type, [](auto a, auto b) { return a != a || b != b; });
  add_relation<T>(t, "nge", type, [](auto a, auto b) { return !(a >= b); });
  add_relation<T>(t, "nlg", type, [](auto a, auto b) { return !(a < b || a > b); });
  add_relation<T>(t, "ngt", type, [](auto a, auto b) { return !(a > b); });
  add_relation<T>(t, "nle", type, [](auto a, auto b) { return !(a <= b); });
  add_relation<T>(t, "neq", type, [](auto a, auto b) { return !(a == b); });
  add_relation<T>(t, "nlt", type, [](auto a, auto b) { return !(a < b); });
  add_relation<T>(t, "tru", type, [](auto, auto) { return true; });
  add_relation<T>(t, "t", type, [](auto, auto) { return true; });
}

}  // namespace

void register_compare_float(HandlerTable& t) {
  add_relations<f32>(t, "f32");
  add_relations<f16>(t, "f16");
  add_relations<f64>(t, "f64");
}

}  // namespace rapt::sim::valu
