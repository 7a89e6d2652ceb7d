// The effect of each bit of each encoding: it is flipped in random legal encodings, which run from random states.
#pragma once

#include "sim/tests/support/bits/hints.hpp"
#include "sim/tests/support/bits/instruction_trial.hpp"

#include <deque>
#include <string>

namespace rapt::sim::test {

enum class Outcome : std::uint8_t {
  unseen,
  refused,  // not an instruction, or one that the simulator refuses to execute
  other,    // another opcode, or another number of words
  idle,     // the same opcode, and no difference so far
  effect,
};
inline constexpr unsigned outcome_count = 5;

// A number for the size of an instruction and its operands.
std::uint64_t operands_in_use(const Instruction& instruction);

// Instructions for which running them tells what registers they write.
bool writes_by_m0(const Opcode& opcode);

// Encodings of one operation with the same fields in use.
struct Form {
  const Opcode* row;
  const Layout* layout;
  std::uint64_t key;  // what its encodings have in common
  std::vector<Words> bases;
  std::vector<Outcome> bits;
  std::vector<const Hint*> hints;  // of each bit; none for most
  std::vector<std::uint8_t> pending{};
  unsigned trials = 0;
  bool ran = false;         // at least one of the bases
  bool everywhere = false;  // it writes registers that effects() does not name
};

class BitSearch {
 public:
  explicit BitSearch(Target target);

  // Random encodings of every opcode that is simulated. Bits that are hints are tried in `hint_passes` passes, the
  // others in `passes`, each with another state.
  void run(unsigned passes, unsigned hint_passes);

  const std::vector<Form>& forms() const { return forms_; }
  // A base's text and words.
  std::string describe(const Form& form) const;
  Target target() const { return target_; }

 private:
  void collect(const Opcode& row);
  Form make_form(const Opcode& row, const Layout& layout, std::uint64_t key, const Instruction& instruction,
                 const Words& words) const;
  void drop_settled(Form& form, unsigned passes, unsigned hint_passes);
  Words another_base(Form& form);
  bool try_base(Form& form, const Words& base);
  Outcome outcome_of(const Instruction& base, const Words& flipped);

  Target target_;
  DecodeMode mode_;
  std::mt19937 random_{7};
  InstructionTrial trial_;
  std::deque<Layout> layouts_;
  std::vector<Form> forms_;
};

}  // namespace rapt::sim::test
