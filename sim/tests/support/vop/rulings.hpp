// Modifiers that do nothing according to the ISA documents, and those whose effect the documents leave open.
#pragma once

#include "sim/tests/support/vop/modifiers.hpp"

namespace rapt::sim::test {

enum class Effect : std::uint8_t { some, none, open };
struct Ruling {
  Effect effect = Effect::some;
  std::string_view source;  // why it has no effect or is open
};

// `single`: one bit that differs from the plain form.
Ruling ruling(const VopForm& form, const Modifiers& single, Known known);

}  // namespace rapt::sim::test
