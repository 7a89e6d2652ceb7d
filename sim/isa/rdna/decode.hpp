// Decoding of gfx11's and gfx12's words: decode() finds the format, one function per format does the rest.
#pragma once

#include "sim/isa/rdna/reader.hpp"

namespace rapt::sim::rdna_isa {

std::optional<Instruction> decode(DecodeMode mode, const OpcodeIndex& index, std::span<const std::uint32_t> words);

void decode_scalar(Reader& in);  // SOP1, SOP2, SOPK, SOPC, SOPP
void decode_smem(Reader& in);
void decode_short_vector(Reader& in);  // VOP1, VOP2, VOPC
void decode_vop3(Reader& in);
void decode_vop3p(Reader& in);
void decode_vopd(Reader& in);
void decode_ds(Reader& in);
void decode_flat(Reader& in);  // FLAT, GLOBAL, SCRATCH
void decode_unsupported(Reader& in);
void decode_buffer(Reader& in);  // MUBUF, MTBUF, VBUFFER

}  // namespace rapt::sim::rdna_isa
