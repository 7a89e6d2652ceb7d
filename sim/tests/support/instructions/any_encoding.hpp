// Builds the encodings of any_instruction.hpp: one function for each family.
#pragma once

#include "sim/tests/support/instructions/any_instruction.hpp"

namespace rapt::sim::test {

// Collects a row's forms: words with places of operands. `encodings` keeps the words that decode.
class Forms {
 public:
  Forms(DecodeMode mode, const Opcode& opcode) : mode_(mode), opcode_(opcode) {}

  class Form {
   public:
    explicit Form(Encoding& encoding) : encoding_(encoding) {}
    const Form& any(Slot slot, Coding coding, unsigned low, unsigned count, unsigned flag = 0) const;
    // The same, except for operands that the row does not have.
    const Form& at(Slot slot, Coding coding, unsigned low, unsigned count, unsigned flag = 0) const;
    const Form& option(unsigned low, unsigned count) const;
    const Form& set(unsigned low, unsigned count, std::uint32_t value) const;

   private:
    Encoding& encoding_;
  };
  Form add(std::string form, std::uint32_t first, std::uint32_t second = 0, std::uint32_t third = 0);

  DecodeMode mode() const { return mode_; }
  const Opcode& row() const { return opcode_; }
  bool is(Traits trait) const { return (opcode_.traits & trait) != 0; }
  bool has(Arch arch) const { return mode_.arch == arch; }
  bool before_gfx90a() const { return contains(sim::before_gfx90a, mode_.arch); }
  std::vector<Encoding> take() { return std::move(forms_); }

 private:
  DecodeMode mode_;
  const Opcode& opcode_;
  std::vector<Encoding> forms_;
};

void add_gfx9_scalar_forms(Forms& forms);
void add_gfx9_vector_forms(Forms& forms);
void add_gfx9_memory_forms(Forms& forms);
void add_rdna_scalar_forms(Forms& forms);
void add_rdna_vector_forms(Forms& forms);
void add_rdna_memory_forms(Forms& forms);

}  // namespace rapt::sim::test
