// A decoded instruction: what every part of the simulator works on. Created once for each static instruction.
#pragma once

#include "sim/isa/opcode.hpp"

#include <memory>

namespace rapt::sim {

// Scalar registers have one numbering on every architecture; the decoder maps to it (gfx11 and later swap M0 and NULL).
namespace sreg {
inline constexpr unsigned flat_scratch = 102;  // gfx9
inline constexpr unsigned xnack_mask = 104;    // gfx9
inline constexpr unsigned vcc = 106;
inline constexpr unsigned ttmp0 = 108;
inline constexpr unsigned m0 = 124;
inline constexpr unsigned null = 125;
inline constexpr unsigned exec = 126;
inline constexpr unsigned count = 128;
}  // namespace sreg

enum class OperandKind : std::uint8_t {
  none,
  vgpr,      // index: register 0..255
  agpr,      // index: register 0..255 (CDNA's accumulation registers)
  sgpr,      // index: 0..127 as above
  constant,  // value: the bits that the instruction sees (inline constant in the operand's type, or literal)
  special,   // index: the source code as encoded: 235 shared_base .. 239 pops, 251 vccz, 252 execz, 253 scc, 254
             // lds_direct
};

struct Operand {
  OperandKind kind = OperandKind::none;
  bool high = false;        // true 16-bit registers: the upper half of the register
  bool literal = false;     // a constant that came as a literal word (the text shows it in hexadecimal)
  std::uint8_t dwords = 0;  // 32-bit registers covered (a 16-bit value counts one)
  std::uint16_t index = 0;  // of a 16-bit operand's literal: its upper half, which only the text shows
  std::uint64_t value = 0;
};

enum class LaneMap : std::uint8_t { none, dpp16, dpp8, sdwa };
enum class SdwaSelect : std::uint8_t { byte0, byte1, byte2, byte3, word0, word1, dword };
enum class SdwaUnused : std::uint8_t { pad, sext, preserve };

// Operands are in fixed places.
//
//   sop*     dst, src0, src1; immediate = simm16, sign-extended (sopk, sopp; branch targets in words after the next)
//   smem     dst = sdata (store and atomic: src2), src0 = sbase, src1 = soffset or none; offset
//   vop*     dst, dst2 = carry out, src0..2 (src2 also a carry or mask in); an fma accumulating into dst has src2 = dst
//   vopc     dst = the mask (vcc, an SGPR pair, or exec for v_cmpx on gfx10+)
//   vopd     the X half here, the Y half in `dual`
//   mfma     dst, src0 = A, src1 = B, src2 = C; smfmac and swmmac: src2 = index, C is dst;
//            gfx950's scaled forms: src3, src4 = scales of A and B
//   ds       dst, src0 = address, src1, src2 = data; offset; the two-address forms: offset1 too, both in elements
//   flat, global, scratch: dst, src0 = vaddr or none, src1 = vdata, src2 = saddr or none; offset
//   mubuf, mtbuf: dst (loads, returning atomics), src0 = vaddr or none, src1 = vdata, src2 = srsrc, src3 = soffset
//
// `immediate` also holds v_bitop3's table of three inputs, a literal word as it came, and bits that only text needs.
struct Instruction {
  const Opcode* opcode = nullptr;
  std::uint8_t size = 0;  // bytes: 4, 8, 12 or 16
  bool e64 = false;       // a VOP1, VOP2 or VOPC operation in VOP3 encoding; its name then ends in _e64
  Operand dst, dst2;
  std::array<Operand, 5> src;

  // VALU modifiers; one bit per source (op_sel: bit 3 is the destination; from gfx11 on, `high` of 16-bit operands says
  // it too)
  std::uint8_t neg = 0, neg_hi = 0, abs = 0, op_sel = 0, op_sel_hi = 0;
  std::uint8_t omod = 0;  // 0 none, 1 *2, 2 *4, 3 /2
  bool clamp = false;

  LaneMap lane_map = LaneMap::none;
  std::uint16_t dpp_ctrl = 0;  // as encoded (dpp16)
  std::uint32_t dpp8 = 0;      // 3 bits per lane
  std::uint8_t row_mask = 15, bank_mask = 15;
  bool bound_ctrl = false, fetch_inactive = false;
  SdwaSelect dst_sel = SdwaSelect::dword;
  std::array<SdwaSelect, 2> src_sel{SdwaSelect::dword, SdwaSelect::dword};
  SdwaUnused dst_unused = SdwaUnused::pad;
  std::uint8_t sext = 0;  // SDWA: sign-extend, one bit per source

  // memory
  std::int32_t offset = 0;
  std::uint16_t offset1 = 0;
  bool gds = false, lds = false, tfe = false, offen = false, idxen = false;
  bool glc = false, slc = false, dlc = false, scc = false;  // gfx940+: sc0, nt, -, sc1
  std::uint8_t temporal_hint = 0, scope = 0;                // gfx12
  bool nv = false;                                          // gfx12: non-volatile
  std::uint8_t data_format = 0, number_format = 0;          // mtbuf; gfx11+: the unified format in data_format

  // matrix
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;

  std::int32_t immediate = 0;
  std::shared_ptr<Instruction> dual;  // VOPD's Y half; shared, so that an instruction can be copied
};

}  // namespace rapt::sim
