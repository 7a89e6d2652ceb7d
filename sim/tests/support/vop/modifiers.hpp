// Modifiers of VOP3 and VOP3P: their bits, which of them LLVM's disassembler knows for an operation, and their effects,
// as changes of the registers before and after the same operation without them.
#pragma once

#include "sim/tests/support/vop/bench.hpp"
#include "sim/tests/support/vop/kinds.hpp"

namespace rapt::sim::test {

// One bit per source; op_sel's bit 3 is the destination's half. VOP3P has neg_hi in place of VOP3's abs.
struct Modifiers {
  unsigned neg = 0, abs = 0, op_sel = 0, op_sel_hi = 0, omod = 0;
  bool clamp = false;
  bool operator==(const Modifiers&) const = default;
};
Modifiers operator|(const Modifiers& a, const Modifiers& b);
std::string name_of(const VopForm& form, const Modifiers& modifiers);

Modifiers plain_modifiers(const VopForm& form);  // the modifiers of form.words
Sample with_modifiers(const VopForm& form, Sample words, const Modifiers& modifiers);

// Each single bit of the encoding (op_sel_hi: cleared if it is usually set).
std::vector<Modifiers> single_modifiers(const VopForm& form);

enum class Known : std::uint8_t { refused, ignored, taken };
// What LLVM prints for each single bit of each form.
std::vector<std::vector<Known>> known_modifiers(Arch arch, const std::vector<VopForm>& forms);

}  // namespace rapt::sim::test
