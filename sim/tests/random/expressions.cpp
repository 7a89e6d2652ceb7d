// Expressions of scalar types.
#include "sim/tests/random/writer.hpp"

#include <cinttypes>
#include <cstdio>

namespace rapt::sim::random {
namespace {

// Operands: t of the operation's own type, n u32, i i32, q u64, s i64.
struct Operation {
  const char* name;
  const char* operands;
};

constexpr Operation integer_operations[] = {
    {"add", "tt"},       {"add", "tt"},        {"sub", "tt"},       {"sub", "tt"},     {"mul", "tt"},
    {"mul", "tt"},       {"mad", "ttt"},       {"neg", "t"},        {"shl", "tn"},     {"shl", "tn"},
    {"shr", "tn"},       {"shr", "tn"},        {"rotl", "tn"},      {"funnel", "ttn"}, {"mulhi", "tt"},
    {"quotient", "tt"},  {"remainder", "tt"},  {"mul24", "tt"},     {"smaller", "tt"}, {"larger", "tt"},
    {"middle", "ttt"},   {"absolute", "t"},    {"distance", "tt"},  {"add_sat", "tt"}, {"sub_sat", "tt"},
    {"add_carry", "tt"}, {"sub_borrow", "tt"}, {"mul_check", "tt"}, {"ones", "t"},     {"leading", "t"},
    {"trailing", "t"},   {"reversed", "t"},    {"swapped", "t"},    {"field", "tnn"},  {"signed_field", "tnn"},
    {"insert", "ttt"},   {"either", "ttt"},
};
constexpr Operation float_operations[] = {
    {"fadd", "tt"},  {"fadd", "tt"},           {"fsub", "tt"},    {"fsub", "tt"},     {"fmul", "tt"},  {"fmul", "tt"},
    {"fmul", "tt"},  {"fdiv", "tt"},           {"fneg", "t"},     {"fabsolute", "t"}, {"ffma", "ttt"}, {"ffma", "ttt"},
    {"froot", "t"},  {"fmultiply_add", "ttt"}, {"ffloor", "t"},   {"fceil", "t"},     {"ftrunc", "t"}, {"feven", "t"},
    {"fsign", "tt"}, {"fsmaller", "tt"},       {"flarger", "tt"}, {"fleast", "tt"},   {"fmost", "tt"}, {"fclamp", "t"},
};
constexpr Operation word_operations[] = {{"bytes", "nnn"}, {"byte_distance", "nnn"}};
constexpr Operation wide_operations[] = {{"wide_mad", "nnq"}, {"square_high", "qqn"}};

std::string hex(std::uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof text, "0x%" PRIx64 "%s", value, value > 0xffffffff ? "UL" : "U");
  return text;
}

}  // namespace

std::string text(std::initializer_list<std::string_view> pieces) {
  std::string all;
  for (const std::string_view piece : pieces) all += piece;
  return all;
}

std::uint64_t Chooser::edge() {
  const std::uint64_t power = std::uint64_t{1} << below(64);
  switch (below(8)) {
    case 0: return below(4);
    case 1: return ~std::uint64_t{below(4)};
    case 2: return power;
    case 3: return power - 1;
    case 4: return ~power;
    case 5: return bits() >> below(64);
    case 6: return below(256);
    default: return bits();
  }
}

std::string Writer::constant(Type type) {
  const std::string name = info(type).name;
  if (!is_float(type))
    return name + "(" + hex(choose_.edge() & (~std::uint64_t{0} >> (64 - 8 * info(type).bytes))) + ")";
  static constexpr const char* numbers[] = {"0.0",    "-0.0",   "1.0",    "-1.0",    "0.5",  "2.0",
                                            "3.0",    "0.1",    "-7.25",  "1000.0",  "4.0",  "-0.75",
                                            "1.5e-5", "6.1e-5", "65504.", "0x1p-24", "1e-3", "-2.5"};
  return name + "(" + choose_.of(numbers) + ")";
}

std::string Writer::index(unsigned length, unsigned depth) {
  return "(" + value(Type::u32, depth) + " & " + std::to_string(length - 1) + ")";
}

std::string Writer::memory(Type type, unsigned depth) {
  std::vector<Array> readable;
  for (const auto* arrays : {&scope_.arrays, &tables_})
    for (const Array& array : *arrays)
      if (array.type == type) readable.push_back(array);
  if (!readable.empty() && (!scope_.thread || choose_.chance(60))) {
    const Array& array = choose_.of(readable);
    return array.name + "[" + index(array.length, depth) + "]";
  }
  if (!scope_.thread) return constant(type);
  const std::string name = info(type).name;
  if (scope_.phase > 0 && choose_.chance(40)) {
    if (type == Type::u64) return "thread.shared->words[" + index(128, depth) + "]";
    if (type == Type::u32) return "thread.shared->narrow[" + index(128, depth) + "]";
  }
  if (scope_.phase == 2 && type == Type::u32 && choose_.chance(40))
    return "thread.shared->totals[" + index(8, depth) + "]";
  // 256 bytes: any address that leaves room for the value, or one that is aligned to it.
  if (choose_.chance(40))
    return text(
        {"load<", name, ">(thread.in + ", value(Type::u32, depth), " % ", std::to_string(257 - info(type).bytes), ")"});
  return text({"load_aligned<", name, ">(thread.in + ", index(256 / info(type).bytes, depth), " * ",
               std::to_string(info(type).bytes), ")"});
}

std::string Writer::leaf(Type type) {
  std::vector<const Variable*> same;
  for (const Variable& variable : scope_.scalars)
    if (variable.type == type) same.push_back(&variable);
  if (!same.empty() && choose_.chance(80)) return choose_.of(same)->name;
  if (!scope_.scalars.empty() && choose_.chance(60)) {
    const Variable& other = choose_.of(scope_.scalars);
    const char* start = is_float(type) ? "to_float<" : is_float(other.type) ? "to_int<" : "";
    return text({start, info(type).name, *start ? ">(" : "(", other.name, ")"});
  }
  return constant(type);
}

std::string Writer::operation(const char* name, const char* operands, Type type, unsigned depth) {
  std::string all = std::string(name) + "(";
  for (const char* operand = operands; *operand; ++operand) {
    if (operand != operands) all += ", ";
    all += value(*operand == 't' ? type : *operand == 'n' ? Type::u32 : Type::u64, depth);
  }
  return all + ")";
}

std::string Writer::integer(Type type, unsigned depth) {
  if (type == Type::u32 && choose_.chance(8)) {
    const Operation& chosen = choose_.of(word_operations);
    return operation(chosen.name, chosen.operands, type, depth);
  }
  if (type == Type::u64 && choose_.chance(15)) {
    const Operation& chosen = choose_.of(wide_operations);
    return operation(chosen.name, chosen.operands, type, depth);
  }
  if (type == Type::i64 && choose_.chance(5))
    return text(
        {"wide_mad(", value(Type::i32, depth), ", ", value(Type::i32, depth), ", ", value(Type::i64, depth), ")"});
  if (choose_.chance(25)) {
    static constexpr const char* logic[] = {" & ", " | ", " ^ ", " & ~", " ^ ~"};
    const std::string name = info(type).name, left = value(type, depth), sign = choose_.of(logic),
                      right = value(type, depth);
    if (sign == " | ") return text({"merged<", name, ">(", left, ", ", right, ")"});
    return text({name, "(", left, sign, right, ")"});
  }
  const Operation& chosen = choose_.of(integer_operations);
  return operation(chosen.name, chosen.operands, type, depth);
}

std::string Writer::floating(Type type, unsigned depth) {
  const Operation& chosen = choose_.of(float_operations);
  return operation(chosen.name, chosen.operands, type, depth);
}

std::string Writer::converted(Type type, unsigned depth) {
  const std::string name = info(type).name;
  if (is_float(type)) {
    static constexpr const char* from_bits[] = {"half_from_bits", "brain_from_bits", "from_bits", "from_bits"};
    static constexpr Type bits[] = {Type::u16, Type::u16, Type::u32, Type::u64};
    const unsigned which = static_cast<unsigned>(type) - static_cast<unsigned>(Type::f16);
    switch (choose_.below(3)) {
      case 0: return std::string(from_bits[which]) + "(" + value(bits[which], depth) + ")";
      case 1: return "to_float<" + name + ">(" + value(float_type(), depth) + ")";
      default: return "to_float<" + name + ">(" + value(integer_type(), depth) + ")";
    }
  }
  switch (choose_.below(4)) {
    case 0: return name + "(bits(" + value(float_type(), depth) + "))";
    case 1: return "to_int<" + name + ">(" + value(float_type(), depth) + ")";
    default: return name + "(" + value(integer_type(), depth) + ")";
  }
}

std::string Writer::condition(unsigned depth) {
  static constexpr const char* comparisons[] = {" < ", " <= ", " == ", " != ", " > ", " >= "};
  if (depth > 0) --depth;
  const Type type = choose_.chance(60) ? integer_type() : float_type();
  switch (choose_.below(depth > 0 ? 8 : 5)) {
    case 0: return text({"((", value(Type::u32, depth), " >> ", std::to_string(choose_.below(32)), " & 1) != 0)"});
    case 1:
      if (is_float(type)) return text({"unordered(", value(type, depth), ", ", value(type, depth), ")"});
      [[fallthrough]];
    case 2:
    case 3:
    case 4: return text({"(", value(type, depth), choose_.of(comparisons), value(type, depth), ")"});
    case 5: return text({"(", condition(depth), " && ", condition(depth), ")"});
    case 6: return text({"(", condition(depth), " || ", condition(depth), ")"});
    default: return "!" + condition(depth);
  }
}

std::optional<std::string> Writer::call(Type type, unsigned depth) {
  for (const Function& function : functions_) {
    if (function.result != type || cost_of(function.cost) > 300 || spent_ + cost_of(function.cost) > 3000) continue;
    spend(function.cost);
    std::string all = function.name + "(";
    for (std::size_t n = 0; n < function.parameters.size(); ++n)
      all += text({n ? ", " : "", value(function.parameters[n], depth)});
    return all + ")";
  }
  return std::nullopt;
}

std::string Writer::value(Type type, unsigned depth) {
  spend(1);
  if (depth == 0 || choose_.chance(15)) return leaf(type);
  --depth;
  const unsigned kind = choose_.below(100);
  if (kind < 10) return memory(type, depth > 1 ? 1 : depth);
  if (kind < 22) return converted(type, depth);
  if (kind < 28) return text({"(", condition(depth), " ? ", value(type, depth), " : ", value(type, depth), ")"});
  if (kind < 34)
    if (auto called = call(type, depth > 1 ? 1 : depth)) return *called;
  if (kind < 42)
    for (const VectorVariable& vector : scope_.vectors)
      if (vector.type.element == type) return text({info(type).name, "(", element(vector, 0), ")"});
  return is_float(type) ? floating(type, depth) : integer(type, depth);
}

}  // namespace rapt::sim::random
