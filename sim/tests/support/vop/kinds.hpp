// What the operands of a vector operation hold, by its name: "The data-size of the operands is explicitly defined in
// the name of the instruction" (ISA documents, "Operands"). Operations whose name does not tell everything are listed.
#pragma once

#include "sim/tests/support/vop/forms.hpp"

namespace rapt::sim::test {

enum class Element : std::uint8_t {
  integer,
  f16,
  bf16,
  f32,
  f64,
  other
};  // other: fp8 and smaller, lane masks, matrices

struct ValueKind {
  Element element = Element::other;
  unsigned bits = 32;  // of one element
  bool pair = false;   // two elements
  bool is_float() const { return element != Element::integer && element != Element::other; }
};

ValueKind source_kind(const VopForm& form, unsigned number);
ValueKind result_kind(const VopForm& form);

}  // namespace rapt::sim::test
