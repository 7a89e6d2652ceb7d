// Private memory: a lane's dwords are a wave apart (Wave::scratch_base has the layout).
#pragma once

#include "sim/machine/lds/space.hpp"

namespace rapt::sim {

// Byte offsets into each lane's memory. Throws a Fault if one is outside.
template <Data D, unsigned L>
void private_load(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, u32* rows);
template <Data D, unsigned L>
void private_store(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, const u32* rows);

}  // namespace rapt::sim
