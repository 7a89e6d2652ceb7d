// Comparisons of integers.
#include "sim/machine/vector/compare.hpp"
#include "sim/machine/operands/tables.hpp"

namespace rapt::sim::valu {
namespace {

template <class T>
void add_relations(HandlerTable& t, std::string_view type) {
  add_relation<T>(t, "f", type, [](auto, auto) { return false; });
  add_relation<T>(t, "lt", type, [](auto a, auto b) { return a < b; });
  add_relation<T>(t, "eq", type, [](auto a, auto b) { return a == b; });
  add_relation<T>(t, "le", type, [](auto a, auto b) { return a <= b; });
  add_relation<T>(t, "gt", type, [](auto a, auto b) { return a > b; });
  add_relation<T>(t, "ne", type, [](auto a, auto b) { return a != b; });
  add_relation<T>(t, "ge", type, [](auto a, auto b) { return a >= b; });
  add_relation<T>(t, "t", type, [](auto, auto) { return true; });
}

}  // namespace

void register_compare_integer(HandlerTable& t) {
  add_relations<u16>(t, "u16");
  add_relations<i16>(t, "i16");
  add_relations<u32>(t, "u32");
  add_relations<i32>(t, "i32");
  add_relations<u64>(t, "u64");
  add_relations<i64>(t, "i64");
}

}  // namespace rapt::sim::valu
