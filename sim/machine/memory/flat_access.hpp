// What every vector memory instruction does with its lanes' addresses: checks them against the allocations, and tells
// the observers.
#pragma once

#include "sim/machine/core/fault.hpp"
#include "sim/machine/scalar/operands.hpp"
#include "sim/machine/core/workgroup.hpp"
#include "sim/memory/memory.hpp"

#include <array>
#include <bit>

namespace rapt::sim {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Host addresses, one per lane, undefined for inactive lanes.
struct alignas(64) Addresses {
  u64 at[64];
};

// From the lowest byte to the end of the highest one, of an access with at least one lane.
struct Span {
  u64 begin, end;
};
Span span_of(const Access& access);
// Whether each lane touches the bytes right after the previous lane's, so that the span has no gaps.
bool is_one_run(const Access& access);

// The cost of an access, for the profile.
struct AccessCounts {
  u64 bytes = 0;
  unsigned sectors32 = 0, sectors64 = 0;  // different ones that it touches (global and scratch)
  unsigned lds_clocks = 0;                // that the banks are busy, and how many of them are due to conflicts
  unsigned lds_conflicts = 0;
};
AccessCounts count_access(const Wave& w, const Access& access);

void report_access(Wave& w, const Instruction& i, const Access& access);
// Called once for every access, before it happens.
inline void note_access(Wave& w, const Instruction& i, const Access& access) {
  if (w.group && !w.group->observers.empty()) [[unlikely]]
    report_access(w, i, access);
}

// Whether this wave is sanitized.
inline bool checked(const Wave& w) { return w.group && w.group->checked; }

// The bits that are set in any lane's address.
inline u64 address_bits(const Access& access) {
  u64 bits = 0;
  if (access.lanes == ~u64{0}) {
    for (unsigned lane = 0; lane < 64; ++lane) bits |= access.at[lane];
  } else if (access.lanes == 0xffffffff) {
    for (unsigned lane = 0; lane < 32; ++lane) bits |= access.at[lane];
  } else {
    for_lanes(access.lanes, [&](unsigned lane) { bits |= access.at[lane]; });
  }
  return bits;
}

// Throws a Fault that names the lane if [at, at + bytes) is not inside one live allocation.
template <unsigned L>
void check_global(const Wave& w, const Access& access);

// Marks what a store wrote, if allocations keep such maps.
void mark_stored(const Access& access);
inline void mark_global_store(const Access& access) {
  if (Memory::tracking()) [[unlikely]]
    mark_stored(access);
}

}  // namespace rapt::sim
