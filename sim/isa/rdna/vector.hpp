// What the vector formats share: 16-bit registers, DPP, and which modifiers an operation takes.
#pragma once

#include "sim/isa/rdna/reader.hpp"

namespace rapt::sim::rdna_isa {

bool is_half(Type type);  // only 16 bits: the operand names a half of its register
bool is_packed(Type type);
bool is_wide(Type type);  // 64 bits or more

// Operations with an operand that is 16 bits wide have op_sel, neg and abs bits for all sources.
bool is_true16(const Opcode& row);
// Sources that the encoding names: not those implied by the destination.
unsigned encoded_sources(const Opcode& row);

// The bits of modifiers that an operation has; others must be 0.
struct Allowed {
  unsigned sources;  // neg and abs, one bit a source
  unsigned op_sel;
  bool clamp, omod;
};
Allowed allowed_modifiers(const Opcode& row);
// Clears bits without effect: neg and abs of operands other than floats, op_sel of operands other than 16 bits wide.
void drop_ignored_modifiers(Reader& in);

// A VGPR source named by a DPP word.
enum class Dpp : std::uint8_t { none, dpp16, dpp8 };
Dpp dpp_code(unsigned source);
// Reads the DPP word; gives the number of the register that is src0.
unsigned read_dpp(Reader& in, unsigned source, bool with_modifiers);
bool has_dpp(const Opcode& row);
// The type of an inline constant as matrix C.
Type matrix_constant(const Opcode& row);
// VOP3's DPP forms take a scalar as src1 from gfx1150 on (LLVM's FeatureDPPSrc1SGPR).
constexpr bool dpp_takes_scalar(Arch arch) { return instructions_of(arch) != Arch::gfx1100; }

// Short encodings select a half with bit 7 of the register's field.
Operand short_vgpr(Reader& in, unsigned field, Type type);

}  // namespace rapt::sim::rdna_isa
