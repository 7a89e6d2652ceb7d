// Expressions of vector types.
#include "sim/tests/random/writer.hpp"

namespace rapt::sim::random {

std::string Writer::vector_leaf(const Vector& type, unsigned depth) {
  std::vector<const VectorVariable*> same;
  for (const VectorVariable& variable : scope_.vectors)
    if (variable.type.name == type.name) same.push_back(&variable);
  if (!same.empty() && choose_.chance(75)) return choose_.of(same)->name;
  if (choose_.chance(40)) return std::string("(") + type.name + ")(" + value(type.element, depth) + ")";
  std::string all = text({"(", type.name, "){"});
  for (unsigned n = 0; n < type.length; ++n) all += text({n ? ", " : "", value(type.element, depth)});
  return all + "}";
}

// clang-19 -O0 cannot compile a variable index into three words.
std::string Writer::element(const VectorVariable& variable, unsigned depth) {
  static constexpr const char* names[] = {".x", ".y", ".z"};
  if (variable.type.length == 3) return variable.name + choose_.of(names);
  return text({variable.name, "[", index(variable.type.length, depth), "]"});
}

std::string Writer::vector(const Vector& type, unsigned depth) {
  spend(type.length);
  if (depth == 0) return vector_leaf(type, 0);
  --depth;
  const std::string name = type.name;
  const char* turned = type.length == 4 ? ".wzyx" : type.length == 3 ? ".zxy" : ".yx";
  const auto some = [&] { return vector(type, depth); };
  switch (choose_.below(8)) {
    case 0: return vector_leaf(type, depth);
    case 1:
      if (type.length == 3) return vector_leaf(type, depth);
      return text({"with(", some(), ", ", index(type.length, depth), ", ", value(type.element, depth), ")"});
    case 2: return text({"(", some(), ")", turned});
    case 3: return text({"((", some(), " < ", some(), ") ? ", some(), " : ", some(), ")"});
    case 4:
      if (type.element == Type::f16) return text({"(-", some(), ")"});
      if (is_float(type.element)) return text({"__builtin_elementwise_fma(", some(), ", ", some(), ", ", some(), ")"});
      return text({"(", some(), choose_.chance(50) ? " << (" : " >> (", some(), " & (", name, ")(",
                   info(type.element).name, "(", std::to_string(8 * info(type.element).bytes - 1), "))))"});
    case 5:
      if (name == "f32x4") return text({"__builtin_convertvector(", vector(vectors[5], depth), ", f32x4)"});
      if (name == "u32x4") return text({"__builtin_bit_cast(u32x4, ", vector(vectors[6], depth), ")"});
      if (name == "u16x4") return text({"__builtin_convertvector(", vector(vectors[0], depth), ", u16x4)"});
      if (name == "u64x2") return text({"__builtin_convertvector(", vector(vectors[3], depth), ", u64x2)"});
      [[fallthrough]];
    default: {
      static constexpr const char* floats[] = {" + ", " - ", " * "};
      static constexpr const char* integers[] = {" + ", " - ", " * ", " & ", " | ", " ^ "};
      const bool real = is_float(type.element);
      const std::string left = some(), sign = real ? choose_.of(floats) : choose_.of(integers), right = some();
      if (sign == " | ") return text({"merged<", name, ">(", left, ", ", right, ")"});
      if (real && sign == " - ") return text({"(hidden(", left, ") - ", right, ")"});  // as in fsub, a zero or not
      return text({"(", left, sign, right, ")"});
    }
  }
}

}  // namespace rapt::sim::random
