// gfx9's assembly text as LLVM writes it, one function per group of formats.
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/isa/instruction.hpp"

namespace rapt::sim::gfx9 {

std::string print(DecodeMode mode, const Instruction& instruction);

// Operands and modifiers, each with the separator from the mnemonic or the operand before it.
class Text {
 public:
  Text(Arch arch, const Instruction& instruction, std::string mnemonic)
      : arch_(arch), instruction_(instruction), text_(std::move(mnemonic)) {}

  Arch arch() const { return arch_; }
  const Instruction& instruction() const { return instruction_; }
  const Opcode& row() const { return *instruction_.opcode; }
  bool is(Traits trait) const { return (row().traits & trait) != 0; }

  void operand(std::string_view text) {
    text_ += operands_++ == 0 ? " " : ", ";
    text_ += text;
  }
  void operand(const Operand& operand, Type type);
  void flag(std::string_view text, bool set = true) {
    if (!set) return;
    text_ += ' ';
    text_ += text;
  }
  // " name:[1,0]" of `count` bits, unless all are `default_bit`.
  void bits(std::string_view name, unsigned bits, unsigned count, bool default_bit = false);
  std::string take() { return std::move(text_); }

 private:
  Arch arch_;
  const Instruction& instruction_;
  std::string text_;
  unsigned operands_ = 0;
};

void print_scalar(Text& text);  // SOP1, SOP2, SOPC, SOPK, SOPP
void print_smem(Text& text);
void print_vop(Text& text);  // VOP1, VOP2, VOPC, VOP3
void print_vop3p(Text& text);
void print_matrix(Text& text);
void print_ds(Text& text);
void print_flat(Text& text);
void print_buffer(Text& text);

std::string message(unsigned immediate);                       // s_sendmsg's
std::string hardware_register(Arch arch, unsigned immediate);  // s_getreg_b32's
std::string index_mode(unsigned immediate);                    // s_set_gpr_idx_on's
std::string swizzle(unsigned offset);                          // ds_swizzle_b32's
std::string buffer_format(unsigned data_format, unsigned number_format);

}  // namespace rapt::sim::gfx9
