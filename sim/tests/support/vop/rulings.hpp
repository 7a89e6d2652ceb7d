// Where the ISA documents say that a modifier does nothing, and where they leave open what it does.
#pragma once

#include "sim/tests/support/vop/modifiers.hpp"

namespace rapt::sim::test {

enum class Effect : std::uint8_t { some, none, open };
struct Ruling {
  Effect effect = Effect::some;
  std::string_view source;  // why it has none or is open
};

// `single`: one bit that is not as in the plain form.
Ruling ruling(const VopForm& form, const Modifiers& single, Known known);

}  // namespace rapt::sim::test
