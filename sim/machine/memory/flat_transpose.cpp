// gfx12's transposing loads, GLOBAL_LOAD_TR_B128 (16-bit elements) and _B64 (8-bit), of waves of 32 lanes. The ISA
// document only gives their purpose: a 16 x 16 matrix stored in memory by columns is loaded in the layout of WMMA
// operands. The exchange between lanes follows measurements on gfx1201 for B128, and working gfx1201 kernels and AMD's
// rocjitsu for B64. Waves of 64 lanes have another layout, which is not published, and are refused.
#include "sim/machine/memory/flat_special.hpp"
#include "sim/machine/memory/flat_spaces.hpp"

namespace rapt::sim {
namespace {

void transposing_b128(Wave& w, const Instruction& i) {
  constexpr unsigned L = 32;
  alignas(64) u32 rows[4 * L];
  GlobalForm::load<Data::b128, L>(w, i, w.all_lanes(), rows);
  const auto element = [&rows](unsigned lane, unsigned e) { return rows[e / 2 * L + lane] >> 16 * (e % 2) & 0xffff; };
  u32* out = w.row(i.dst);
  // 8 x 8 within each group of eight lanes: element e of lane l was element l % 8 of lane e.
  for (unsigned l = 0; l < L; ++l)
    for (unsigned d = 0; d < 4; ++d)
      out[d * L + l] = element(l / 8 * 8 + 2 * d, l % 8) | element(l / 8 * 8 + 2 * d + 1, l % 8) << 16;
}

void transposing_b64(Wave& w, const Instruction& i) {
  constexpr unsigned L = 32;
  alignas(64) u32 rows[2 * L];
  GlobalForm::load<Data::b64, L>(w, i, w.all_lanes(), rows);
  u32* out = w.row(i.dst);
  // Within sixteen lanes, four adjacent ones hold four rows of one half of the columns.
  for (unsigned l = 0; l < L; ++l)
    for (unsigned d = 0; d < 2; ++d) {
      u32 value = 0;
      for (unsigned e = 0; e < 4; ++e) {
        const unsigned lane = l / 16 * 16 + d * 8 + l % 16 / 8 * 4 + e;
        value |= (rows[l % 8 / 4 * L + lane] >> 8 * (l % 4) & 0xff) << 8 * e;
      }
      out[d * L + l] = value;
    }
}

void wave64(Wave&, const Instruction& i) {
  throw Fault(FaultKind::illegal_instruction,
              std::string(i.opcode->name) + " in a wave of 64 lanes: its layout is not documented");
}

template <Handler H>
void whole_wave(Wave& w, const Instruction& i) {
  if (w.exec() != w.all_lanes())
    throw Fault(FaultKind::illegal_instruction, std::string(i.opcode->name) + " needs all lanes in EXEC");
  H(w, i);
}

}  // namespace

void register_global_transpose(HandlerTable& t) {
  t.add("global_load_tr_b128", whole_wave<transposing_b128>, wave64, gfx12);
  t.add("global_load_tr_b64", whole_wave<transposing_b64>, wave64, gfx12);
}

}  // namespace rapt::sim
