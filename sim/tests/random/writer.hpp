// Writes the text of random programs: functions and kernels of prelude.h's types and operations.
#pragma once

#include "sim/tests/random/types.hpp"

#include <initializer_list>
#include <optional>
#include <string_view>

namespace rapt::sim::random {

// Concatenates the pieces. A braced list is evaluated from left to right, unlike operands of +, so the random choices
// of its elements are made in the same order with every compiler.
std::string text(std::initializer_list<std::string_view> pieces);

// Text of a scalar that can be read, and written unless it is a constant.
struct Variable {
  std::string name;
  Type type;
  bool writable;
};
struct VectorVariable {
  std::string name;
  Vector type;
};
struct Array {
  std::string name;
  Type type;
  unsigned length;  // a power of two
  bool writable;
};
struct Function {
  std::string name;
  Type result;
  std::vector<Type> parameters;
  unsigned cost;
};

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : choose_(seed) {}

  // Tables of constants that all functions of one translation unit read.
  void tables();
  void see_tables_of(const Writer& other) { tables_ = other.tables_; }
  // One kernel and the functions that only it calls. All names that it declares begin with `name`.
  void program(const std::string& name);
  std::string take() { return std::move(out_); }

 private:
  // What can be seen from a place in the text.
  struct Scope {
    std::vector<Variable> scalars;
    std::vector<VectorVariable> vectors;
    std::vector<Array> arrays;
    bool thread = false;      // `thread` and `uniform` are available
    unsigned phase = 0;       // of the kernel; shared memory can be read from the second on
    bool may_return = false;  // a function without result
    bool in_loop = false;
    std::string result;  // the returned type, if the function has one
    Type result_type = Type::u32;
  };

  // expressions.cpp: each gives an expression that has exactly the type
  std::string value(Type type, unsigned depth);
  std::string leaf(Type type);
  std::string constant(Type type);
  std::string integer(Type type, unsigned depth);
  std::string floating(Type type, unsigned depth);
  std::string converted(Type type, unsigned depth);
  std::string memory(Type type, unsigned depth);
  std::string condition(unsigned depth);
  std::string index(unsigned length, unsigned depth);
  std::optional<std::string> call(Type type, unsigned depth);
  std::string operation(const char* name, const char* operands, Type type, unsigned depth);
  Type any_type() { return static_cast<Type>(choose_.below(type_count)); }
  Type integer_type() { return static_cast<Type>(choose_.below(8)); }
  Type float_type() { return static_cast<Type>(8 + choose_.below(4)); }

  // vectors.cpp
  std::string vector(const Vector& type, unsigned depth);
  std::string vector_leaf(const Vector& type, unsigned depth);
  std::string element(const VectorVariable& variable, unsigned depth);

  // statements.cpp
  void statements(unsigned count);
  void statement();
  void block(unsigned count);
  void assign();
  void declare();
  void branch();
  void loop();
  void switch_over();
  void write_memory();
  void write_total();
  void leave();

  // functions.cpp
  void function();
  void recursive_function();
  void table_of_functions();
  void structure();
  void structure_function();
  Function begin_function(unsigned parameters);

  // program.cpp
  void begin_phase(unsigned phase);
  void end_phase(unsigned phase);

  void line(const std::string& text) { out_ += std::string(2 * indent_, ' ') + text + '\n'; }
  void open(const std::string& text) { line(text + " {"), ++indent_; }
  void close(const char* end = "}") { --indent_, line(end); }
  std::string fresh(const char* stem) { return stem + std::to_string(names_++); }
  unsigned cost_of(unsigned once) const { return once * repeats_; }
  void spend(unsigned once) { spent_ += cost_of(once); }

  Chooser choose_;
  std::string out_, prefix_;
  std::size_t function_start_ = 0;  // in out_
  unsigned indent_ = 0, names_ = 0;
  unsigned nesting_ = 0;              // of blocks
  unsigned repeats_ = 1, spent_ = 0;  // estimated iterations of the enclosing loops, and operations executed so far
  Scope scope_;
  std::vector<Function> functions_;
  std::vector<Array> tables_;
  struct Structure {
    std::string name;
    std::vector<Variable> fields;
    std::vector<std::string> functions;
  };
  std::optional<Structure> structure_;
};

}  // namespace rapt::sim::random
