// Traits of gfx11 and gfx12 in addition to the common ones.
#pragma once

#include "sim/isa/opcode.hpp"

namespace rapt::sim::rdna_isa::trait {

using namespace rapt::sim::trait;

constexpr Traits family(unsigned n) { return bit(family_bits + n); }

inline constexpr Traits literal_src1 = family(0);  // v_fmamk: src1 is always a literal
inline constexpr Traits literal_src2 = family(1);  // v_fmaak
inline constexpr Traits vgpr_src1 = family(2);     // src1 is a VGPR, not a scalar
inline constexpr Traits vgpr_src2 = family(3);
inline constexpr Traits no_literal = family(4);     // registers and inline constants
inline constexpr Traits register_src0 = family(5);  // SOP1: only registers
inline constexpr Traits scalar_src0 = family(6);    // not a VGPR: v_writelane's value
inline constexpr Traits scalar_src1 = family(7);    // v_readlane's and v_writelane's lane
inline constexpr Traits swaps = family(8);          // src0 is written too
inline constexpr Traits byte_select = family(9);    // op_sel's upper bits select the byte of the destination
inline constexpr Traits no_e64_dpp = family(10);    // DPP only in its short form

// SOPK, SOPP
inline constexpr Traits literal_src0 = family(17);  // s_setreg_imm32
inline constexpr Traits no_immediate = family(18);  // simm16 is 0

// VOP2
inline constexpr Traits splat = family(21);  // v_pk_fmac_f16: an inline constant goes to both halves

// v_ldexp_f16: an integer, but with the inline constants of f16
inline constexpr Traits integer_src1 = family(23);

// GLOBAL
inline constexpr Traits transposes = family(22);  // global_load_tr

// DS
inline constexpr Traits no_gds = family(20);  // does not access memory

// VOP3P
inline constexpr Traits mix = family(11);              // op_sel_hi: the source is half of its register, not an f32
inline constexpr Traits integer_sources = family(12);  // matrix A and B: neg means signed
inline constexpr Traits fp8_sources = family(13);      // matrix A and B have no modifiers
inline constexpr Traits index_key = family(14);        // op_sel selects the part of the index register
inline constexpr Traits f16_result = family(15);       // matrix C and D of f16: what an inline constant means
inline constexpr Traits bf16_result = family(16);

}  // namespace rapt::sim::rdna_isa::trait
