// What an instruction is to the hazard rules: facts of the static instruction.
#pragma once

#include "sim/isa/decode.hpp"
#include "sim/isa/effects.hpp"

namespace rapt::sim {

namespace kind {
using Kinds = std::uint64_t;
constexpr Kinds bit(unsigned n) { return Kinds{1} << n; }
inline constexpr Kinds valu = bit(0);  // vector arithmetic, including matrix products
inline constexpr Kinds salu = bit(1);
inline constexpr Kinds memory = bit(2);  // buffer, flat, global, scratch
inline constexpr Kinds lds = bit(3);
inline constexpr Kinds product = bit(4);  // MFMA, SMFMAC, WMMA, SWMMAC
inline constexpr Kinds sparse = bit(5);
inline constexpr Kinds f64_product = bit(6);  // LLVM: DGEMM
inline constexpr Kinds xdl = bit(7);          // MFMA of gfx940 and later, not of f32 or f64
inline constexpr Kinds dot = bit(8);
inline constexpr Kinds trans = bit(9);
inline constexpr Kinds dpp = bit(10);
inline constexpr Kinds shifts_result = bit(11);  // places its result in a part of the register
inline constexpr Kinds accvgpr_read = bit(12);   // v_accvgpr_read
inline constexpr Kinds accvgpr_write = bit(13);  // v_accvgpr_write
inline constexpr Kinds wide_store = bit(14);     // more than 8 bytes per lane
inline constexpr Kinds fma_f64 = bit(15);
inline constexpr Kinds reads_lane = bit(16);    // v_readlane, v_readfirstlane
inline constexpr Kinds names_lane = bit(17);    // those and v_writelane
inline constexpr Kinds selects_lane = bit(18);  // ... by an SGPR
inline constexpr Kinds div_fmas = bit(19);
inline constexpr Kinds permlane = bit(20);
inline constexpr Kinds getreg = bit(21);
inline constexpr Kinds setreg = bit(22);
inline constexpr Kinds reads_m0 = bit(23);       // in addition to the instruction's operands
inline constexpr Kinds reads_scalar = bit(24);   // an SGPR or VCC as an operand
inline constexpr Kinds writes_vector = bit(25);  // VALU: a VGPR or AGPR
inline constexpr Kinds writes_scalar = bit(26);  // VALU: an SGPR or VCC
inline constexpr Kinds writes_exec = bit(27);
inline constexpr Kinds writes_m0 = bit(28);      // SALU
inline constexpr Kinds compares_exec = bit(29);  // v_cmpx
inline constexpr Kinds nop = bit(30);            // v_nop
inline constexpr Kinds waits_vdst = bit(31);     // for all VALU results: va_vdst(0)
inline constexpr Kinds waits_sdst = bit(32);     // for all SALU results: sa_sdst(0)
inline constexpr Kinds reads_mask = bit(33);     // VALU: a lane mask in an SGPR or VCC
inline constexpr Kinds late_vector = bit(34);    // writes_vector, but a product cannot use it at once
inline constexpr Kinds setvskip = bit(35);       // s_setvskip
inline constexpr Kinds sets_vskip = bit(36);     // s_setreg of MODE.vskip
inline constexpr Kinds getmode = bit(37);        // s_getreg of MODE
}  // namespace kind

struct HazardFacts {
  kind::Kinds kinds = 0;
  kind::Kinds watches = 0;       // kinds of earlier instructions that may still forbid it,
  std::uint8_t window = 0;       // up to this many wait states ago
  std::uint8_t wait_states = 1;  // that it takes itself
  std::uint8_t passes = 0;       // of a matrix product, four clocks each
  std::uint8_t hardware_register = 0;
};

HazardFacts hazard_facts(const Instruction& instruction, const Effects& effects, Arch arch);

}  // namespace rapt::sim
