// One row of an architecture's instruction table.
#pragma once

#include "sim/isa/arch.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace rapt::sim {

// How an instruction word is laid out. The names follow the ISA documents; gfx12's VBUFFER counts as mubuf or mtbuf and
// its VFLAT, VGLOBAL and VSCRATCH as flat, global and scratch, because they have the same operands.
enum class Format : std::uint8_t {
  sop1,
  sop2,
  sopk,
  sopc,
  sopp,
  smem,
  vop1,
  vop2,
  vopc,
  vop3,
  vop3p,
  vopd,
  vinterp,
  ldsdir,
  ds,
  flat,
  global,
  scratch,
  mubuf,
  mtbuf,
  unsupported,  // image, export, GDS: decoded for the listing, refused when executed
};

// What an operand holds; determines the number of registers, and what an inline float constant means.
enum class Type : std::uint8_t {
  none,
  b8,
  b16,
  i16,
  u16,
  f16,
  bf16,
  b32,
  i32,
  u32,
  f32,
  pk_i16,
  pk_u16,
  pk_f16,
  pk_bf16,
  pk_fp8,  // pk_*: two (fp8: four) elements in 32 bits
  b64,
  i64,
  u64,
  f64,
  pk_f32,
  pk_b32,  // pk_*32: two 32-bit elements in 64 bits
  b96,
  b128,
  b160,
  b192,
  b256,
  b288,
  b320,
  b352,
  b384,
  b512,
  b1024,
  mask,  // one bit per lane: 32 or 64 bits, depending on the wave's size
};
// The number of 32-bit registers that a value of the type takes; for mask, in a wave of `lanes` lanes.
unsigned dwords(Type type, unsigned lanes);

// Facts of an operation that its operand types and format do not tell, mostly exceptions from these rules: a
// floating-point source takes neg and abs, a floating-point result clamp and omod. VOP1, VOP2 and VOPC have VOP3, DPP
// and SDWA forms.
using Traits = std::uint64_t;
namespace trait {
constexpr Traits bit(unsigned n) { return Traits{1} << n; }
inline constexpr Traits no_e64 = bit(0);         // has no VOP3 form
inline constexpr Traits no_dpp = bit(1);         // ... DPP form
inline constexpr Traits no_sdwa = bit(2);        // ... SDWA form
inline constexpr Traits no_modifiers = bit(3);   // neither neg nor abs although the sources are floating-point
inline constexpr Traits modifiers = bit(4);      // neg and abs although they are not
inline constexpr Traits lax_modifiers = bit(5);  // neg and abs bits of sources that have none are ignored, not refused
inline constexpr Traits no_omod = bit(6);
inline constexpr Traits omod = bit(7);
inline constexpr Traits no_clamp = bit(8);
inline constexpr Traits clamp = bit(9);
inline constexpr Traits op_sel = bit(10);          // VOP3 with op_sel
inline constexpr Traits no_op_sel = bit(25);       // VOP3P without
inline constexpr Traits op_sel_src2 = bit(11);     // op_sel has a bit for src2, which the operation does not have
inline constexpr Traits truth_table = bit(12);     // neg, omod and abs hold a table of three inputs: `immediate`
inline constexpr Traits fetch_control = bit(13);   // op_sel's bits are fi and bound_ctrl
inline constexpr Traits reads_dst = bit(14);       // the destination is also a source: printed once
inline constexpr Traits scalar_dst = bit(15);      // a VALU result in an SGPR
inline constexpr Traits vgpr_src0 = bit(16);       // src0 is a VGPR, not a scalar
inline constexpr Traits scalar_sources = bit(24);  // the other sources are not VGPRs
inline constexpr Traits acc_dst = bit(17);         // the destination is an AGPR
inline constexpr Traits acc_src0 = bit(18);        // src0 is an AGPR
inline constexpr Traits matrix = bit(19);          // MFMA, WMMA
inline constexpr Traits sparse = bit(20);          // SMFMAC, SWMMAC
inline constexpr Traits two_offsets = bit(21);     // DS: two 8-bit offsets
inline constexpr Traits to_lds = bit(22);          // loads to LDS
inline constexpr Traits lds_option = bit(23);      // loads to LDS if its lds bit is set
inline constexpr Traits no_immediate = bit(26);    // SOPP whose immediate must be 0
inline constexpr Traits sgpr_src0 = bit(27);       // src0 is a scalar register, not a constant
inline constexpr Traits no_gds = bit(28);          // DS only for LDS
inline constexpr Traits no_return = bit(29);       // an atomic that cannot return the old value
inline constexpr unsigned family_bits = 30;        // the bits from here on belong to the family
}  // namespace trait

struct Opcode {
  std::string_view name;  // LLVM's mnemonic without an encoding suffix (_e32, _e64, _sdwa, _dpp): v_add_f32
  Format format;
  std::uint16_t code;  // the opcode field's value in that format
  ArchSet archs;       // the architectures on which this row holds
  Type dst = Type::none;
  Type dst2 = Type::none;  // carry or condition out
  std::array<Type, 5> src{};
  Traits traits = 0;
};

}  // namespace rapt::sim
