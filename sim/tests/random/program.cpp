// A kernel of three phases, with everything that only it uses.
#include "sim/tests/random/writer.hpp"

namespace rapt::sim::random {

void Writer::tables() {
  for (unsigned n = 0; n < type_count; ++n) {
    const Type type = static_cast<Type>(n);
    const std::string name = std::string("table_") + info(type).name;
    const unsigned length = 8U << choose_.below(3);
    std::string values;
    for (unsigned k = 0; k < length; ++k) values += text({k ? ", " : "", constant(type)});
    line(text({"TABLE ", info(type).name, " const ", name, "[", std::to_string(length), "] = {", values, "};"}));
    tables_.push_back({name, type, length, false});
  }
}

void Writer::program(const std::string& name) {
  prefix_ = name;
  functions_.clear();
  structure_.reset();
  if (choose_.chance(40)) structure();
  if (structure_) structure_function();
  if (choose_.chance(25)) recursive_function();
  const unsigned functions = choose_.below(4);
  for (unsigned n = 0; n < functions; ++n) function();
  if (choose_.chance(25)) table_of_functions();

  // Values that a thread keeps between the phases.
  std::vector<Variable> kept;
  open("struct " + name + "_state");
  const unsigned fields = 2 + choose_.below(5);
  for (unsigned n = 0; n < fields; ++n) {
    kept.push_back({"state.k" + std::to_string(n), any_type(), true});
    line(text({info(kept.back().type).name, " k", std::to_string(n), ";"}));
  }
  close("};");

  for (unsigned phase = 0; phase < 3; ++phase) {
    scope_ = {};
    scope_.thread = true;
    scope_.phase = phase;
    scope_.may_return = phase == 1;
    scope_.scalars = {{"thread.id", Type::u32, false}, {"thread.group", Type::u32, false},
                      {"uniform.a", Type::u32, false}, {"uniform.b", Type::i64, false},
                      {"uniform.c", Type::f32, false}, {"uniform.d", Type::u16, false},
                      {"uniform.e", Type::i8, false},  {"uniform.f", Type::f64, false}};
    spent_ = phase == 0 ? 0 : 1500;
    function_start_ = out_.size();
    open(text({"static DEV void ", name, "_", std::to_string(phase), "(const Thread& thread, const Uniform& uniform, ",
               name, "_state& state)"}));
    begin_phase(phase);
    if (phase == 0)
      for (const Variable& variable : kept) line(text({variable.name, " = ", value(variable.type, 2), ";"}));
    scope_.scalars.insert(scope_.scalars.end(), kept.begin(), kept.end());
    statements(phase == 0 ? 4 + choose_.below(6) : choose_.below(5));
    end_phase(phase);
    close();
  }
  line("KERNEL(" + name + ")");
}

void Writer::begin_phase(unsigned) {
  if (structure_) {
    line(structure_->name + " s;");
    for (const Variable& field : structure_->fields) line(text({field.name, " = ", value(field.type, 1), ";"}));
    scope_.scalars.insert(scope_.scalars.end(), structure_->fields.begin(), structure_->fields.end());
  }
  const unsigned locals = 2 + choose_.below(4);
  for (unsigned n = 0; n < locals; ++n) {
    const Type type = any_type();
    const std::string x = fresh("x");
    line(text({info(type).name, " ", x, " = ", choose_.chance(70) ? memory(type, 1) : value(type, 2), ";"}));
    scope_.scalars.push_back({x, type, true});
  }
}

void Writer::end_phase(unsigned phase) {
  if (phase == 0) {
    line(text({"thread.shared->words[thread.id] = ", value(Type::u64, 2), ";"}));
    line(text({"thread.shared->narrow[thread.id] = ", value(Type::u32, 2), ";"}));
    open("if (thread.id < SHARED - GROUP)");
    line(text({"thread.shared->words[GROUP + thread.id] = ", value(Type::u64, 2), ";"}));
    line(text({"thread.shared->narrow[GROUP + thread.id] = ", value(Type::u32, 2), ";"}));
    close();
    line("if (thread.id < 8) thread.shared->totals[thread.id] = thread.id;");
  }
  // The final value of every variable: the first ones unchanged, the others mixed into one word.
  const std::string base = std::to_string(128 + 40 * phase);
  line("u64 mixed = 0;");
  unsigned place = 0;
  for (const Variable& variable : scope_.scalars) {
    if (!variable.writable) continue;
    if (place < 4)
      line(text(
          {"store(thread.out + ", base, " + ", std::to_string(8 * place++), ", u64(bits(", variable.name, ")));"}));
    else line(text({"mixed = rotl(mixed, 7) ^ u64(bits(", variable.name, "));"}));
  }
  for (const VectorVariable& variable : scope_.vectors)
    for (unsigned n = 0; n < variable.type.length; ++n) {
      const char place_name[] = {'.', "xyzw"[n], 0};
      line(text({"mixed = rotl(mixed, 9) ^ u64(bits(", info(variable.type.element).name, "(", variable.name, place_name,
                 ")));"}));
    }
  for (const Array& array : scope_.arrays)
    line(text({"for (u32 n = 0; n < ", std::to_string(array.length), "; ++n) mixed = rotl(mixed, 5) ^ u64(bits(",
               array.name, "[n]));"}));
  line(text({"store(thread.out + ", base, " + 32, mixed);"}));
}

}  // namespace rapt::sim::random
