// Every vector operation of an architecture in each of its encodings, with registers as sources. The opcode tables give
// name and code. LLVM's disassembler gives all else: number, sizes and register files of operands.
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/tests/support/programs/disassemble.hpp"

namespace rapt::sim::test {

struct VopRegister {
  char file = 0;  // v, a or s; 0 for vcc and the like
  unsigned first = 0, dwords = 0;
};

struct VopSource {
  unsigned number = 0;  // 0 to 2: src0, src1, src2 of the encoding
  unsigned low = 0;     // the lowest bit of its field
  bool any = false;     // a field of nine bits, which may name a constant
  std::string text;     // LLVM's name of the register: "v64", "v[64:65]", "v64.l"
  VopRegister in;
};

struct VopForm {
  const Opcode* opcode;  // only for its name and encoding
  Arch arch;
  unsigned lanes;
  bool e64;  // VOP3 or VOP3P
  Sample words;
  unsigned size;  // in words
  std::string text;
  VopRegister dst;
  std::vector<VopSource> sources;

  bool is_vop3p() const { return opcode->format == Format::vop3p; }
  bool is_mix() const { return starts_with("v_fma_mix"); }
  unsigned op_sel_hi() const { return (words[1] >> 27 & 3) | (words[0] >> 14 & 1) << 2; }  // of VOP3P
  // Whether the mnemonic has the part between two underscores, or at an end.
  bool has(std::string_view part) const;
  bool starts_with(std::string_view stem) const { return opcode->name.starts_with(stem); }
  bool is_matrix() const;  // MFMA, SMFMAC, WMMA, SWMMAC
};

// VOP1, VOP2, VOPC, VOP3 and VOP3P, in the order of the tables. v_fma_mix* come twice: with sources of f32 and of f16.
std::vector<VopForm> vop_forms(Arch arch);

// The words with another code in a source's field.
Sample with_source(const VopForm& form, const VopSource& source, unsigned code);
std::optional<Instruction> decode_form(const VopForm& form, const Sample& words);

}  // namespace rapt::sim::test
