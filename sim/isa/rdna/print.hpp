// gfx11's and gfx12's assembly text as LLVM 22 writes it with 16-bit registers, one function per group of formats.
#pragma once

#include "sim/isa/cdna/print.hpp"

namespace rapt::sim::rdna_isa {

// A separate type, so that the functions below do not clash with gfx9's.
class Text : public gfx9::Text {
 public:
  using gfx9::Text::Text;
};

std::string print(DecodeMode mode, const Instruction& instruction);

void print_scalar(Text& text);
void print_smem(Text& text);
void print_vector(Text& text);  // VOP1, VOP2, VOPC, VOP3
void print_vop3p(Text& text);
void print_lane_map(Text& text);
void print_ds(Text& text);
void print_flat(Text& text);
void print_buffer(Text& text);

// An operand, with its half (.l, .h) if the type is 16 bits wide.
std::string operand_text(Arch arch, const Operand& operand, Type type);
// A literal of an operand that uses fewer than 32 bits of it.
std::string whole_literal(const Operand& operand);
// A vector operation's source with its modifiers.
std::string source_text(const Text& text, unsigned index);
// Small numbers in decimal, others in hexadecimal, as LLVM writes most immediates.
std::string small_or_hex(unsigned value);

std::string waits(unsigned immediate);                         // s_waitcnt's
std::string delays(unsigned immediate);                        // s_delay_alu's
std::string dependency_counters(unsigned immediate);           // s_waitcnt_depctr's, s_wait_alu's
std::string message(Arch arch, unsigned immediate);            // s_sendmsg's
std::string hardware_register(Arch arch, unsigned immediate);  // s_getreg_b32's
std::string version(Arch arch, unsigned immediate);            // s_version's
std::string buffer_format(unsigned format);

}  // namespace rapt::sim::rdna_isa
