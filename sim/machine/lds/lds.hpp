// DS instructions, one function per family.
#pragma once

#include "sim/machine/memory/flat_names.hpp"
#include "sim/machine/lds/space.hpp"

namespace rapt::sim {

void register_lds_exchange(HandlerTable& table);   // between lanes: swizzle, permute
void register_lds_transpose(HandlerTable& table);  // gfx950's transposing reads
void register_lds_atomics(HandlerTable& table);
void register_lds_src2(HandlerTable& table);  // both operands in LDS (gfx908)

// GDS is not simulated.
inline void need_lds(const Instruction& i) {
  if (i.gds) [[unlikely]]
    throw Fault(FaultKind::illegal_instruction, std::string(i.opcode->name) + " with gds: the GDS is not simulated");
}

// Address + offset, which wraps at 32 bits.
template <unsigned L>
inline void ds_offsets(Wave& w, const Instruction& i, u32 offset, Offsets& o) {
  const u32* row = w.row(i.src[0]);
  for (unsigned l = 0; l < L; ++l) o.at[l] = row[l] + offset;
}

}  // namespace rapt::sim
