// The mnemonics of loads and stores: what follows "global_load_" and the like, in gfx9's and in later ones' naming.
#pragma once

#include "sim/machine/memory/flat_rows.hpp"
#include "sim/machine/core/handlers.hpp"

#include <deque>

namespace rapt::sim {

// Handler tables keep views; the names that are built here live as long as the process.
inline std::string_view lasting(std::string name) {
  static std::deque<std::string> names;
  return names.emplace_back(std::move(name));
}

// The form's load and store as handlers, for waves of L lanes.
template <class Form, Data D, unsigned L>
void load_instruction(Wave& w, const Instruction& i) {
  if (const u64 lanes = w.exec()) Form::template load<D, L>(w, i, lanes, w.row(i.dst));
}
template <class Form, Data D, unsigned L>
void store_instruction(Wave& w, const Instruction& i) {
  if (const u64 lanes = w.exec()) Form::template store<D, L>(w, i, lanes, w.row(i.src[1]));
}

template <class Form>
struct PlainInstructions {
  HandlerTable& table;
  std::string prefix;  // "global_"

  template <Data D>
  void load(std::initializer_list<const char*> names) {
    for (const char* name : names)
      table.add(lasting(prefix + "load_" + name), load_instruction<Form, D, 32>, load_instruction<Form, D, 64>);
  }
  template <Data D>
  void store(std::initializer_list<const char*> names) {
    for (const char* name : names)
      table.add(lasting(prefix + "store_" + name), store_instruction<Form, D, 32>, store_instruction<Form, D, 64>);
  }

  void add_all() {
    load<Data::u8>({"ubyte", "u8"}), load<Data::i8>({"sbyte", "i8"});
    load<Data::u16>({"ushort", "u16"}), load<Data::i16>({"sshort", "i16"});
    load<Data::b32>({"dword", "b32"}), load<Data::b64>({"dwordx2", "b64"});
    load<Data::b96>({"dwordx3", "b96"}), load<Data::b128>({"dwordx4", "b128"});
    load<Data::u8_low>({"ubyte_d16", "d16_u8"}), load<Data::u8_high>({"ubyte_d16_hi", "d16_hi_u8"});
    load<Data::i8_low>({"sbyte_d16", "d16_i8"}), load<Data::i8_high>({"sbyte_d16_hi", "d16_hi_i8"});
    load<Data::b16_low>({"short_d16", "d16_b16"}), load<Data::b16_high>({"short_d16_hi", "d16_hi_b16"});
    store<Data::u8>({"byte", "b8"}), store<Data::u8_high>({"byte_d16_hi", "d16_hi_b8"});
    store<Data::u16>({"short", "b16"}), store<Data::b16_high>({"short_d16_hi", "d16_hi_b16"});
    store<Data::b32>({"dword", "b32"}), store<Data::b64>({"dwordx2", "b64"});
    store<Data::b96>({"dwordx3", "b96"}), store<Data::b128>({"dwordx4", "b128"});
  }
};

}  // namespace rapt::sim
