// One row of an architecture's instruction table.
#pragma once

#include "sim/isa/arch.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace rapt::sim {

// How an instruction word is laid out. The names follow the ISA documents; gfx12's VBUFFER counts as mubuf or mtbuf and
// its VFLAT, VGLOBAL and VSCRATCH as flat, global and scratch, for they have the same operands.
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

// What an operand holds; it fixes the number of registers, and what an inline float constant means.
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
  mask,  // one bit a lane: 32 or 64 bits by the wave's size
};
// 32-bit registers that a value of the type takes; for mask those of a wave of `lanes` lanes.
unsigned dwords(Type type, unsigned lanes);

// What the operand types and the format do not say of an operation. A floating-point source takes neg and abs, a
// floating-point result clamp and omod, VOP1, VOP2 and VOPC have VOP3, DPP and SDWA forms: a trait is an exception from
// that.
using Traits = std::uint32_t;
namespace trait {
inline constexpr Traits no_e64 = 1U << 0;  // has no VOP3 form
inline constexpr Traits no_e32 = 1U << 1;  // has no other form than VOP3
inline constexpr Traits no_dpp = 1U << 2;
inline constexpr Traits no_sdwa = 1U << 3;
inline constexpr Traits no_modifiers = 1U << 4;  // neither neg nor abs though the sources are floating-point
inline constexpr Traits modifiers = 1U << 5;     // neg and abs though they are not
inline constexpr Traits no_omod = 1U << 6;
inline constexpr Traits omod = 1U << 7;
inline constexpr Traits no_clamp = 1U << 8;
inline constexpr Traits clamp = 1U << 9;
inline constexpr Traits op_sel = 1U << 10;      // VOP3 with op_sel
inline constexpr Traits reads_dst = 1U << 11;   // the destination is also a source: printed once
inline constexpr Traits family_bit = 1U << 16;  // from here on a family's own
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
