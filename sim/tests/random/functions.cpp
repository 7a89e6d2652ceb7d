// Functions that kernels call: with many arguments, recursive, by pointer, with structures.
#include "sim/tests/random/writer.hpp"

namespace rapt::sim::random {

Function Writer::begin_function(unsigned parameters) {
  Function function{fresh((prefix_ + "_f").c_str()), any_type(), {}, 0};
  scope_ = {};
  scope_.result = info(function.result).name;
  scope_.result_type = function.result;
  for (unsigned n = 0; n < parameters; ++n) {
    function.parameters.push_back(any_type());
    scope_.scalars.push_back({"p" + std::to_string(n), function.parameters.back(), true});
  }
  return function;
}

namespace {
std::string signature(const Function& function, const char* kind) {
  std::string all = text({kind, " ", info(function.result).name, " ", function.name, "("});
  for (std::size_t n = 0; n < function.parameters.size(); ++n)
    all += text({n ? ", " : "", info(function.parameters[n]).name, " p", std::to_string(n)});
  return all + ")";
}
}  // namespace

void Writer::function() {
  Function function = begin_function(1 + choose_.below(choose_.chance(10) ? 40 : 6));
  spent_ = 2800;  // leaves room for a short one
  function_start_ = out_.size();
  open(signature(function, choose_.chance(70) ? "NOINLINE" : "INLINE"));
  const unsigned before = spent_;
  statements(1 + choose_.below(4));
  line(text({"return ", value(function.result, 3), ";"}));
  close();
  function.cost = spent_ - before + 5;
  functions_.push_back(function);
}

// Calls itself once or twice, at most four deep. It is short: at -O0 every operation takes room on a stack whose size,
// for recursion, no compiler knows.
void Writer::recursive_function() {
  Function function = begin_function(2);
  const std::string name = function.name, deep = name + "_deep", result = info(function.result).name;
  const auto parameter = [&](unsigned n) { return text({info(function.parameters[n]).name, " p", std::to_string(n)}); };
  const auto again = [&] {
    return text({deep, "(", value(function.parameters[0], 1), ", ", value(function.parameters[1], 1), ", depth - 1)"});
  };
  spent_ = 2800;
  open(text({"NOINLINE ", result, " ", deep, "(", parameter(0), ", ", parameter(1), ", u32 depth)"}));
  line(text({"if (depth == 0 || ", condition(1), ") return ", value(function.result, 1), ";"}));
  const Scope parameters = scope_;
  line(text({result, " r = ", again(), ";"}));
  scope_.scalars.push_back({"r", function.result, true});
  if (choose_.chance(50)) line(text({"if (", condition(1), ") r = ", again(), ";"}));
  line(text({"return ", value(function.result, 1), ";"}));
  close();
  function.cost = 16 * (spent_ - 2800);
  scope_ = parameters;
  open(signature(function, "INLINE"));
  line(text({"return ", deep, "(p0, p1, ", value(Type::u32, 0), " & 3);"}));
  close();
  functions_.push_back(function);
}

// Functions of one type. Each thread chooses one.
void Writer::table_of_functions() {
  Function chosen = begin_function(2);
  const Scope parameters = scope_;
  std::string list;
  unsigned cost = 0;
  for (unsigned n = 0; n < 4; ++n) {
    Function member = chosen;
    member.name = chosen.name + "_" + std::to_string(n);
    scope_ = parameters;
    spent_ = 2900;
    open(signature(member, "NOINLINE"));
    line(text({"return ", value(member.result, 3), ";"}));
    close();
    cost += spent_ - 2900;
    list += (n ? ", " : "") + member.name;
  }
  const std::string types = text({info(chosen.parameters[0]).name, ", ", info(chosen.parameters[1]).name});
  line(text({"typedef ", info(chosen.result).name, " (*", chosen.name, "_type)(", types, ");"}));
  line(text({"TABLE ", chosen.name, "_type const ", chosen.name, "_table[4] = {", list, "};"}));
  chosen.cost = cost + 20;
  scope_ = parameters;
  open(signature(chosen, "INLINE"));
  line(text({"return ", chosen.name, "_table[", index(4, 2), "](p0, p1);"}));
  close();
  functions_.push_back(chosen);
}

void Writer::structure() {
  structure_ = Structure{prefix_ + "_s", {}, {}};
  open("struct " + structure_->name);
  const unsigned fields = 2 + choose_.below(7);
  for (unsigned n = 0; n < fields; ++n) {
    const Type type = any_type();
    structure_->fields.push_back({"s.m" + std::to_string(n), type, true});
    line(text({info(type).name, " m", std::to_string(n), ";"}));
  }
  close("};");
}

void Writer::structure_function() {
  const std::string name = fresh((prefix_ + "_g").c_str());
  scope_ = {};
  scope_.scalars = structure_->fields;
  scope_.scalars.push_back({"p", Type::u32, true});
  scope_.result = structure_->name;
  spent_ = 2900;
  open(text({"NOINLINE ", structure_->name, " ", name, "(", structure_->name, " s, u32 p)"}));
  const unsigned assignments = 1 + choose_.below(3);
  for (unsigned n = 0; n < assignments; ++n) {
    const Variable field = choose_.of(structure_->fields);
    line(text({field.name, " = ", value(field.type, 3), ";"}));
  }
  line("return s;");
  close();
  structure_->functions.push_back(name);
}

}  // namespace rapt::sim::random
