#include "sim/machine/memory/flat_access.hpp"

#include <algorithm>

namespace rapt::sim {

namespace {

// Checks each lane separately: the access may touch several allocations.
void check_lanes(const Access& access) {
  const Memory& memory = Memory::process();
  for_lanes(access.lanes, [&](unsigned lane) {
    const u64 address = access.at[lane];
    const Allocation* allocation = memory.find(address);
    if (allocation && allocation->size - (address - allocation->base) >= access.bytes) return;
    static constexpr const char* verbs[] = {"load", "store", "atomic"};
    std::string what = std::string(verbs[static_cast<unsigned>(access.action)]) + " of " +
                       std::to_string(access.bytes) + " bytes: " + memory.describe(address);
    if (allocation) what += ", reaches past its end";
    throw Fault(FaultKind::illegal_address, what, lane, address);
  });
}

}  // namespace

template <unsigned L>
void check_global(const Wave& w, const Access& access) {
  if (access.lanes == 0) return;
  const Allocation* allocation = Memory::process().find(access.at[std::countr_zero(access.lanes)]);
  if (allocation && allocation->size >= access.bytes) [[likely]] {
    const u64 base = allocation->base, last = allocation->size - access.bytes;
    u64 outside = 0;  // its top bit: an offset is negative or more than `last`
    if (access.lanes == w.all_lanes()) [[likely]] {
      for (unsigned l = 0; l < L; ++l) outside |= (access.at[l] - base) | (last - (access.at[l] - base));
    } else {
      for_lanes(access.lanes, [&](unsigned l) { outside |= (access.at[l] - base) | (last - (access.at[l] - base)); });
    }
    if (static_cast<std::int64_t>(outside) >= 0) [[likely]]
      return;
  }
  check_lanes(access);
}
template void check_global<32>(const Wave&, const Access&);
template void check_global<64>(const Wave&, const Access&);

namespace {

template <unsigned L>
Span span_in(const Access& access) {
  u64 low = ~u64{0}, high = 0;
  for (unsigned l = 0; l < L; ++l) {
    const bool active = (access.lanes >> l & 1) != 0;
    const u64 at = access.at[l];
    low = active && at < low ? at : low;
    high = active && at > high ? at : high;
  }
  return {low, high + access.bytes};
}

template <unsigned L>
bool runs_on(const Access& access) {
  const auto first = static_cast<unsigned>(std::countr_zero(access.lanes));
  const u64 lane0 = access.at[first] - u64{first} * access.bytes;
  u64 other = 0;
  for (unsigned l = 0; l < L; ++l)
    other |= (access.lanes >> l & 1) != 0 ? access.at[l] ^ (lane0 + u64{l} * access.bytes) : 0;
  return other == 0;
}

}  // namespace

Span span_of(const Access& access) {
  if (access.lanes == 1) return {access.at[0], access.at[0] + access.bytes};
  return access.lanes >> 32 == 0 ? span_in<32>(access) : span_in<64>(access);
}

bool is_one_run(const Access& access) {
  if (access.lanes == 1) return true;
  const u64 from_first = access.lanes >> std::countr_zero(access.lanes);
  if ((from_first & (from_first + 1)) != 0) return false;  // there are gaps between the lanes
  return access.lanes >> 32 == 0 ? runs_on<32>(access) : runs_on<64>(access);
}

void mark_stored(const Access& access) {
  if (access.lanes == 0) return;
  if (is_one_run(access)) {
    const Span span = span_of(access);
    if (Memory::process().find(span.begin) == Memory::process().find(span.end - 1)) {
      Memory::process().mark_written(span.begin, span.end - span.begin);
      return;
    }
  }
  for_lanes(access.lanes, [&](unsigned lane) { Memory::process().mark_written(access.at[lane], access.bytes); });
}

namespace {

// The number of blocks of 2^shift bytes that the lanes touch.
unsigned blocks(const Access& access, unsigned shift) {
  std::array<u64, 64 * 3> touched;
  std::size_t count = 0;
  for_lanes(access.lanes, [&](unsigned lane) {
    const u64 last = (access.at[lane] + access.bytes - 1) >> shift;
    for (u64 block = access.at[lane] >> shift; block <= last && count < touched.size(); ++block)
      touched[count++] = block;
  });
  std::sort(touched.begin(), touched.begin() + count);
  return static_cast<unsigned>(std::unique(touched.begin(), touched.begin() + count) - touched.begin());
}

// Loads of 16 bytes on CDNA: the quarter or eighth of a wave whose lanes the banks serve together is not one of
// consecutive lanes. Published by an AMD engineer in Triton's pull request 11365 (gfx942, gfx950).
unsigned wide_load_phase(Arch arch, unsigned lane) {
  const auto bit = [lane](unsigned n) { return lane >> n & 1; };
  if (arch == Arch::gfx950) return (bit(2) ^ bit(3) ^ bit(4)) | bit(5) << 1;
  return (bit(2) ^ bit(4)) | bit(3) << 1 | bit(5) << 2;
}

// The LDS transfers 128 bytes per clock: 32 lanes of a dword, 16 of two, 8 of four. Within such a phase each bank
// delivers one dword per clock, to every lane that reads this dword. There are 32 banks, on gfx950 for loads of 8 and
// 16 bytes 64.
void count_banks(const Wave& w, const Access& access, AccessCounts& counts) {
  const unsigned dwords = std::max(1U, access.bytes / 4);
  const bool load = access.action == Action::load;
  const unsigned banks = w.arch == Arch::gfx950 && load && (dwords == 2 || dwords == 4) ? 64 : 32;
  const unsigned lanes_of_phase = std::max(1U, 32 / std::bit_ceil(dwords)) * (banks / 32);
  const bool swizzled = load && dwords == 4 && (w.arch == Arch::gfx942 || w.arch == Arch::gfx950);
  // Aligned lanes use the same banks side by side: all of a lane's dwords conflict with another's, or none.
  const unsigned unit = std::has_single_bit(dwords) && address_bits(access) % (4 * dwords) == 0 ? dwords : 1;
  const auto unit_shift = static_cast<unsigned>(std::countr_zero(unit));
  std::array<u64, 64> in_phase{};  // lanes
  for_lanes(access.lanes, [&](unsigned lane) {
    in_phase[swizzled ? wide_load_phase(w.arch, lane) : lane / lanes_of_phase] |= u64{1} << lane;
  });
  for (unsigned phase = 0; phase < (w.lanes + lanes_of_phase - 1) / lanes_of_phase; ++phase) {
    std::array<std::array<u64, 64>, 64> in_bank;
    std::array<unsigned, 64> used{};
    unsigned most = 0;
    for_lanes(in_phase[phase], [&](unsigned lane) {
      for (unsigned d = 0; d < dwords; d += unit) {
        const u64 place = (access.at[lane] / 4 + d) >> unit_shift;
        const auto bank = static_cast<unsigned>(place & (banks / unit - 1));
        const auto end = in_bank[bank].begin() + used[bank];
        if (std::find(in_bank[bank].begin(), end, place) != end) continue;
        in_bank[bank][used[bank]++] = place;
        most = std::max(most, used[bank]);
      }
    });
    counts.lds_clocks += most;
    counts.lds_conflicts += most > 1 ? most - 1 : 0;
  }
}

}  // namespace

AccessCounts count_access(const Wave& w, const Access& access) {
  AccessCounts counts;
  counts.bytes = u64{access.bytes} * static_cast<unsigned>(std::popcount(access.lanes));
  if (access.space == Space::lds) count_banks(w, access, counts);
  else counts.sectors32 = blocks(access, 5), counts.sectors64 = blocks(access, 6);
  return counts;
}

void report_access(Wave& w, const Instruction& i, const Access& access) {
  for (Observer* observer : w.group->observers) observer->access(w, i, access);
}

}  // namespace rapt::sim
