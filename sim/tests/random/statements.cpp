// Statements: assignments, branches, loops that differ between threads, memory.
#include "sim/tests/random/writer.hpp"

namespace rapt::sim::random {

void Writer::statements(unsigned count) {
  // clang-22 for gfx908 and gfx90a overwrites the return address in functions of more than 128 KiB, which -O0 makes of
  // some 8000 characters.
  for (unsigned n = 0; n < count && spent_ < 3000 && out_.size() - function_start_ < 5000; ++n) statement();
}

void Writer::block(unsigned count) {
  const auto scalars = scope_.scalars.size(), vectors = scope_.vectors.size(), arrays = scope_.arrays.size();
  ++nesting_;
  statements(count);
  --nesting_;
  scope_.scalars.erase(scope_.scalars.begin() + static_cast<std::ptrdiff_t>(scalars), scope_.scalars.end());
  scope_.vectors.erase(scope_.vectors.begin() + static_cast<std::ptrdiff_t>(vectors), scope_.vectors.end());
  scope_.arrays.erase(scope_.arrays.begin() + static_cast<std::ptrdiff_t>(arrays), scope_.arrays.end());
}

void Writer::statement() {
  const unsigned kind = choose_.below(100);
  if (kind < 20) return declare();
  if (kind < 36 && nesting_ < 4) return branch();
  if (kind < 50 && nesting_ < 3 && repeats_ < 60) return loop();
  if (kind < 56 && nesting_ < 3) return switch_over();
  if (kind < 64 && scope_.thread) return write_memory();
  if (kind < 70 && scope_.thread) return write_total();
  if (kind < 74) return leave();
  assign();
}

void Writer::assign() {
  const unsigned kind = choose_.below(100);
  if (kind < 20 && !scope_.vectors.empty()) {
    const VectorVariable vector = choose_.of(scope_.vectors);
    if (choose_.chance(70)) return line(text({vector.name, " = ", this->vector(vector.type, 2), ";"}));
    return line(text({element(vector, 1), " = ", value(vector.type.element, 2), ";"}));
  }
  if (kind < 40) {
    std::vector<Array> writable;
    for (const Array& array : scope_.arrays)
      if (array.writable) writable.push_back(array);
    if (!writable.empty()) {
      const Array array = choose_.of(writable);
      return line(text({array.name, "[", index(array.length, 1), "] = ", value(array.type, 3), ";"}));
    }
  }
  if (structure_ && !structure_->functions.empty() && choose_.chance(10) && scope_.thread && cost_of(60) < 600) {
    spend(60);
    return line(text({"s = ", choose_.of(structure_->functions), "(s, ", value(Type::u32, 2), ");"}));
  }
  std::vector<Variable> writable;
  for (const Variable& variable : scope_.scalars)
    if (variable.writable) writable.push_back(variable);
  if (writable.empty()) return declare();
  const Variable variable = choose_.of(writable);
  line(text({variable.name, " = ", value(variable.type, 2 + choose_.below(3)), ";"}));
}

void Writer::declare() {
  const unsigned kind = choose_.below(100);
  if (kind < 20) {
    const Vector& type = choose_.of(vectors);
    const std::string name = fresh("v");
    line(text({type.name, " ", name, " = ", vector(type, 2), ";"}));
    scope_.vectors.push_back({name, type});
  } else if (kind < 35 && nesting_ < 2) {
    const Type type = any_type();
    const unsigned length = 2U << choose_.below(4);
    const std::string name = fresh("a"), n = fresh("n");
    line(text({info(type).name, " ", name, "[", std::to_string(length), "];"}));
    const std::string turn = text({"for (u32 ", n, " = 0; ", n, " < ", std::to_string(length), "; ++", n, ") "});
    const std::string cast = is_float(type) ? text({"to_float<", info(type).name, ">"}) : info(type).name;
    line(text({turn, name, "[", n, "] = ", cast, "(", n, " * ", value(Type::u32, 1), ");"}));
    scope_.arrays.push_back({name, type, length, true});
  } else {
    const Type type = any_type();
    const std::string name = fresh("x");
    line(text({info(type).name, " ", name, " = ", value(type, 3), ";"}));
    scope_.scalars.push_back({name, type, true});
  }
}

void Writer::branch() {
  open(text({"if (", condition(3), ")"}));
  block(1 + choose_.below(3));
  if (choose_.chance(50)) {
    close("} else {");
    ++indent_;
    block(1 + choose_.below(3));
  }
  close();
}

void Writer::loop() {
  const std::string n = fresh("n"), end = fresh("e");
  const unsigned mask = choose_.chance(70) ? 7 : 3;
  const bool fixed = choose_.chance(25), was_in_loop = scope_.in_loop;
  const std::string turns = fixed ? std::to_string(1 + choose_.below(mask)) + "U"
                                  : text({"(", value(Type::u32, 2), " & ", std::to_string(mask), ")"});
  const unsigned before = repeats_;
  repeats_ *= (mask + 1) / 2;
  scope_.in_loop = true;
  const unsigned kind = choose_.below(4);
  if (kind == 0) {
    line(text({"u32 ", n, " = 0, ", end, " = ", turns, ";"}));
    open(text({"while (", n, "++ < ", end, " && ", condition(2), ")"}));
  } else if (kind == 1) {
    line(text({"u32 ", n, " = ", turns, ";"}));
    open("do");
  } else {
    open(text({"for (u32 ", n, " = 0, ", end, " = ", turns, "; ", n, " < ", end, "; ++", n, ")"}));
  }
  scope_.scalars.push_back({n, Type::u32, false});
  block(1 + choose_.below(4));
  scope_.scalars.pop_back();
  close(kind == 1 ? ("} while (" + n + "-- != 0);").c_str() : "}");
  scope_.in_loop = was_in_loop;
  repeats_ = before;
}

void Writer::switch_over() {
  const unsigned cases = 2 + choose_.below(6);
  const bool was_in_loop = scope_.in_loop;
  scope_.in_loop = false;  // a `continue` must not leave a switch of a do loop that counts in its condition
  open(text({"switch (", value(Type::u32, 2), " % ", std::to_string(cases + 1), ")"}));
  for (unsigned n = 0; n < cases; ++n) {
    open("case " + std::to_string(n) + ":");
    block(1 + choose_.below(2));
    if (choose_.chance(80)) line("break;");
    close();
  }
  open("default:");
  block(1);
  close();
  close();
  scope_.in_loop = was_in_loop;
}

void Writer::write_memory() {
  const Type type = any_type();
  const std::string size = std::to_string(info(type).bytes), name = info(type).name;
  const std::string bits = is_float(type) ? "bits(" : name + "(";
  spend(2);
  if (choose_.chance(50))
    line(text({"store_aligned(thread.out + ", index(128 / info(type).bytes, 1), " * ", size, ", ", bits, value(type, 3),
               "));"}));
  else
    line(text({"store(thread.out + ", value(Type::u32, 1), " % ", std::to_string(129 - info(type).bytes), ", ", bits,
               value(type, 3), "));"}));
}

// Each total is changed by one operation only, so that the order of the threads does not matter. Sums of floating
// point stay small integers, which are exact.
void Writer::write_total() {
  static constexpr const char* operations[] = {"add", "xor", "or", "and", "min", "max", "swap_mul", "add"};
  spend(10);
  const unsigned n = choose_.below(16);
  if (scope_.phase == 1 && choose_.chance(50))
    return line(text({"atomic_", operations[n & 7], "(&thread.shared->totals[", std::to_string(n & 7), "], ",
                      value(Type::u32, 2), ");"}));
  const std::string place = text({"(thread.totals + ", std::to_string(n), "), "});
  if (n < 8) return line(text({"atomic_", operations[n], "(", place, value(Type::u64, 2), ");"}));
  if (n < 10) return line(text({"atomic_", operations[n - 4], "((i64*)", place, value(Type::i64, 2), ");"}));
  if (n < 12) return line(text({"atomic_", operations[n - 6], "((i32*)", place, value(Type::i32, 2), ");"}));
  if (n < 14) return line(text({"atomic_add((f32*)", place, "f32(", value(Type::u32, 2), " & 63));"}));
  line(text({"atomic_add((f64*)", place, "f64(", value(Type::u32, 2), " & 255));"}));
}

void Writer::leave() {
  if (nesting_ == 0) return assign();
  if (scope_.in_loop && choose_.chance(70))
    return line(text({"if (", condition(2), ") ", choose_.chance(50) ? "break;" : "continue;"}));
  if (scope_.may_return) return line(text({"if (", condition(2), ") return;"}));
  if (!scope_.result.empty()) return line(text({"if (", condition(2), ") return ", value(scope_.result_type, 2), ";"}));
  assign();
}

}  // namespace rapt::sim::random
