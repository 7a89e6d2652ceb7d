// Decoding of gfx9's words: decode() finds the format, one function per group of formats does the rest.
#pragma once

#include "sim/isa/cdna/reader.hpp"

namespace rapt::sim::gfx9 {

std::optional<Instruction> decode(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words);

// Each fills reader.out; returns false, or leaves the reader invalid, if the words are not an instruction.
bool decode_scalar(Reader& reader);  // SOP1, SOP2, SOPC, SOPK, SOPP
bool decode_smem(Reader& reader);
bool decode_vop(Reader& reader);  // VOP1, VOP2, VOPC with their SDWA and DPP forms
bool decode_vop3(Reader& reader);
bool decode_vop3p(Reader& reader);
bool decode_matrix(Reader& reader);        // VOP3P-MAI, whose row decode_vop3p has found
bool begin_scaled_matrix(Reader& reader);  // finds the row after gfx950's scale prefix
bool decode_scaled_matrix(Reader& reader);
bool decode_ds(Reader& reader);
bool decode_flat(Reader& reader);
bool decode_buffer(Reader& reader);  // MUBUF and MTBUF

// What VOP1, VOP2, VOPC and VOP3 share.
bool takes_modifiers(const Opcode& row, unsigned source);  // neg and abs
bool takes_clamp(const Opcode& row);
bool takes_omod(const Opcode& row);
// The type of a source's inline constants, also for the text: the operand's, except for v_fma_mix* and v_ldexp_f16.
Type constant_type(const Opcode& row, unsigned source, unsigned op_sel_hi);
bool is_mix(const Opcode& row);               // v_fma_mix*
unsigned encoded_sources(const Opcode& row);  // sources that have a field; an accumulator uses the destination's

}  // namespace rapt::sim::gfx9
