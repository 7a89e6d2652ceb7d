#include "sim/check/races/races.hpp"

namespace rapt::sim {

// An unordered pair: equal stores, an atomic in disguise, or a race. `kind` is the kind of the current access.
void RaceCheck::conflict(const Place& place, const RaceMark& mark, std::uint16_t bytes, const RaceRun& run,
                         std::uint8_t& kind) {
  const bool writes = kind & RaceMark::writes, atomic = kind & RaceMark::atomic;
  const bool mark_writes = mark.kind & RaceMark::writes, mark_atomic = mark.kind & RaceMark::atomic;
  const std::uint64_t base = place.base, address = base + static_cast<unsigned>(std::countr_zero(bytes));
  if (writes && mark_writes && !atomic && !mark_atomic) {
    if (!stores_equal(place, mark, bytes, run)) fail(mark, base, bytes);
  } else if (!writes) {
    // A load meets a store (an atomic one where the load is plain).
    if (!atomic && !mark_atomic && (mark.kind & RaceMark::repeats || repeated_before(place, bytes))) return;
    if (atomic ? marks_stores(mark) : !code_.synchronises(actor_.slot)) fail(mark, base, bytes);
    kind |= RaceMark::atomic;
    if (mark_atomic) acquire(address);
    else acquire_from(mark);
  } else if (atomic) {
    // An atomic meets a plain load or store.
    if (mark_writes ? !code_.polls(actor_.slot) : !code_.synchronises(mark.slot)) fail(mark, base, bytes);
    if (mark_writes) acquire_from(mark);
  } else if (mark_atomic || !repeats_) {
    // A plain store meets a load or an atomic.
    const bool flag = mark_atomic && !mark_writes && !marks_stores(mark);
    const bool lock =
        mark_atomic && !marks_stores(mark) && (code_.polls(mark.slot) || atomics().has(address, number_, actor_.wave));
    if (!flag && !lock && !(!mark_atomic && code_.synchronises(mark.slot))) fail(mark, base, bytes);
    become_atomic(kind, address);
  }
}

// The LDS itself holds what earlier stores wrote. Other memory may not hold it yet, because another host thread runs
// the storing wave.
bool RaceCheck::stores_equal(const Place& place, const RaceMark& mark, std::uint16_t bytes, const RaceRun& run) {
  const unsigned char* data = stored_data(run);
  if (!data || mark.kind & RaceMark::unknown_value) return false;
  const unsigned char* before = space_ == Space::lds ? reinterpret_cast<const unsigned char*>(place.base)
                                                     : place.shadow.values() + place.index * RaceGranule::size;
  for (unsigned rest = bytes; rest != 0; rest &= rest - 1) {
    const auto b = static_cast<unsigned>(std::countr_zero(rest));
    if (data[place.base + b - run.begin] != before[b]) return false;
  }
  return true;
}

// A mark that repeats another does not count: the first store of a value is always kept, and loads race with it alone.
bool RaceCheck::repeats(const Place& place, std::uint16_t bytes, const RaceRun& run) {
  if (space_ != Space::global || actor_.kind != RaceMark::writes) return false;
  const RaceGranule& g = place.shadow.granules()[place.index];
  std::uint16_t stored = 0;
  const auto look = [&](const RaceMark& mark) {
    if (mark.kind == RaceMark::writes && mark.group != number_ &&
        !clocks_[actor_.wave].knows(mark.group, mark.waves, mark.clock))
      stored |= mark.bytes;
  };
  look({g.clock(), place.shadow.groups()[place.index], g.waves, g.slot(), g.what.bytes, g.what.kind});
  if (g.what.others & RaceGranule::writers)
    for (const RaceMark& mark : place.shadow.others(place.index)) look(mark);
  if ((bytes & ~stored) != 0 || !stores_equal(place, {}, bytes, run)) return false;
  RaceMark& own = repeated_[place.base];
  own.clock = std::max(own.clock, actor_.clock);
  own.waves |= actor_.bit;
  own.bytes |= bytes;
  return true;
}

bool RaceCheck::repeated_before(const Place& place, std::uint16_t bytes) const {
  const auto own = space_ == Space::global ? repeated_.find(place.base) : repeated_.end();
  return own != repeated_.end() && (bytes & ~own->second.bytes) == 0 &&
         (own->second.waves == actor_.bit || own->second.clock <= actor_.floor);
}

// Atomic stores are not marked on gfx9 before gfx940, on gfx11 and in LDS, and nowhere between waves of a group.
bool RaceCheck::marks_stores(const RaceMark& mark) const {
  const Arch arch = group_.waves[0].arch;
  return space_ == Space::global && mark.group != number_ &&
         (arch == Arch::gfx942 || arch == Arch::gfx950 || contains(gfx12, arch));
}

void RaceCheck::become_atomic(std::uint8_t& kind, std::uint64_t address) {
  kind |= RaceMark::atomic;
  atomics().add(address, clocks_[actor_.wave].release());
}

void RaceCheck::acquire_from(const RaceMark& mark) {
  for (std::uint32_t waves = mark.waves; waves != 0; waves &= waves - 1) {
    const auto wave = static_cast<unsigned>(std::countr_zero(waves));
    Release release = launch_.release_at(mark.group, wave, mark.clock);
    if (mark.group == number_) release.known = clocks_[wave].known();
    if (clocks_[actor_.wave].acquire({&release, 1}, nullptr)) learned();
  }
}

void RaceCheck::acquire(std::uint64_t address) {
  if (atomics().acquire(address, clocks_[actor_.wave])) learned();
}

void RaceCheck::learned() {
  actor_.clock = clocks_[actor_.wave].now();
  launch_.publish(number_, 0, clocks_[actor_.wave].known());
}

void RaceCheck::fail(const RaceMark& mark, std::uint64_t base, std::uint16_t bytes) const {
  const std::uint64_t address = base + static_cast<unsigned>(std::countr_zero(bytes));
  const auto verb = [](std::uint8_t kind) {
    const bool writes = kind & RaceMark::writes;
    return kind & RaceMark::atomic ? (writes ? "atomic" : "atomic load") : writes ? "store" : "load";
  };
  std::optional<unsigned> lane;
  for_lanes(access_->lanes, [&](unsigned l) {
    if (!lane && address - access_->at[l] < access_->bytes) lane = l;
  });
  const std::uint32_t others = mark.group == number_ ? mark.waves & ~actor_.bit : mark.waves;
  std::string who = "wave " + std::to_string(std::countr_zero(others));
  if (mark.group != number_) {
    const auto id = launch_.group_id(mark.group);
    who +=
        " of workgroup (" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " + std::to_string(id[2]) + ")";
  }
  char place[48];
  const bool lds = space_ == Space::lds;
  const std::uint64_t shown = lds ? address - reinterpret_cast<std::uint64_t>(group_.lds.data()) : address;
  std::snprintf(place, sizeof place, lds ? "LDS byte %llu" : "address 0x%llx", static_cast<unsigned long long>(shown));
  char offset[24];
  std::snprintf(offset, sizeof offset, "%x", mark.slot * 4);
  report(std::string("data race at ") + place + ": " + verb(actor_.kind) + " by wave " + std::to_string(actor_.wave) +
             " (" + code_.text(actor_.slot) + ") and " + verb(mark.kind) + " by " + who + " (" + code_.text(mark.slot) +
             ", at text+0x" + offset + ") with nothing that orders them",
         lane, shown);
}

}  // namespace rapt::sim
