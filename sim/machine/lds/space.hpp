// LDS accesses of the memory instructions: DS, FLAT in the shared aperture, and loads to LDS.
#pragma once

#include "sim/machine/memory/flat_rows.hpp"

namespace rapt::sim {

// Byte offsets into the workgroup's LDS, one per lane.
struct alignas(64) Offsets {
  u32 at[64];
};

// The end that accesses are checked against: hardware checks the allocation in granules, the sanitizer the requested
// size.
inline u32 lds_limit(const Wave& w) { return checked(w) ? w.group->lds_bytes : static_cast<u32>(w.group->lds.size()); }

// Those of `lanes` that are inside; a Fault if one is not and the sanitizer is on. The others load 0 and store nothing
// (RDNA3 and CDNA ISA documents, "LDS out of range"); an access of several dwords is in or out as a whole.
u64 lds_lanes_inside(const Wave& w, const Offsets& offsets, u64 lanes, unsigned bytes, Action action);

// Computes host addresses of the lanes that are inside, tells the observers, and returns these lanes.
template <unsigned L>
inline u64 reach_lds(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, unsigned bytes, Action action,
                     Addresses& a) {
  const u32 limit = lds_limit(w);
  const u64 base = reinterpret_cast<u64>(w.group->lds.data());
  u32 outside = 1U << 31;
  if (lanes == w.all_lanes() && limit >= bytes) [[likely]] {
    outside = 0;
    const u32 last = limit - bytes;
    for (unsigned l = 0; l < L; ++l) outside |= offsets.at[l] | (last - offsets.at[l]);
  }
  if (outside >> 31 != 0) lanes = lds_lanes_inside(w, offsets, lanes, bytes, action);
  for (unsigned l = 0; l < L; ++l) a.at[l] = base + offsets.at[l];
  note_access(w, i, {Space::lds, action, bytes, lanes, a.at});
  return lanes;
}

template <Data D, unsigned L>
void lds_load(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, u32* rows);
template <Data D, unsigned L>
void lds_store(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, const u32* rows);
// Dwords of a load to LDS, once the wave waits for it (arrivals.hpp).
template <Data D, unsigned L>
void lds_store_later(Wave& w, const Instruction& i, const Offsets& offsets, u64 lanes, const u32* rows);

}  // namespace rapt::sim
