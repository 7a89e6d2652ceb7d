// The full check of a granule: every recorded access is checked against the current one.
#include "sim/check/races/races.hpp"

namespace rapt::sim {
namespace {

std::uint8_t others_of(const RaceOthers& others, Stamp clock) {
  std::uint8_t any = 0;
  for (const RaceMark& mark : others) {
    if (mark.bytes == 0) continue;
    any |= (mark.kind & (RaceMark::writes | RaceMark::atomic)) != 0 ? RaceGranule::writers : RaceGranule::loads;
    if (mark.clock > clock) any |= RaceGranule::newer;
  }
  return any;
}

// The access that is forgotten for a new one: the oldest load. Where there are only stores, it is the oldest that
// repeats another one, then the oldest of all.
RaceMark& least_needed(RaceMark& latest, RaceOthers& others) {
  const auto need = [](const RaceMark& mark) {
    return !(mark.kind & RaceMark::writes) ? 0 : mark.kind & RaceMark::repeats ? 1 : 2;
  };
  RaceMark* place = &latest;
  for (RaceMark& mark : others)
    if (std::pair(need(mark), mark.clock) < std::pair(need(*place), place->clock)) place = &mark;
  return *place;
}

// The first place of a granule that had one access.
RaceMark* new_others(RaceOthers& place, RaceOthers*& others) {
  others = &place;
  *others = {};
  return others->data();
}

}  // namespace

// A load of a granule with only loads, of other waves or other bytes.
void RaceCheck::touch_loaded(const Place& at, std::uint16_t bytes) {
  RaceGranule& g = at.shadow.granules()[at.index];
  std::uint32_t* const groups = at.shadow.groups();
  RaceOthers& others = at.shadow.others(at.index);
  if (g.what.others == 0) others = {};
  const auto supersede = [&](std::uint32_t group, std::uint32_t waves, Stamp clock, std::uint16_t& its_bytes) {
    if (group != number_) return;
    if (clock <= actor_.floor && space_ == Space::lds) its_bytes = 0;
    else if (waves == actor_.bit || clock <= actor_.floor || clocks_[actor_.wave].knows(group, waves, clock))
      its_bytes = static_cast<std::uint16_t>(its_bytes & ~bytes);
  };
  for (RaceMark& mark : others) {
    if (mark.bytes == 0) continue;
    if (mark.clock == actor_.clock && mark.slot == actor_.slot && (mark.waves == actor_.bit || mark.bytes == bytes)) {
      mark.waves |= actor_.bit;
      mark.bytes |= bytes;
      return;
    }
    supersede(mark.group, mark.waves, mark.clock, mark.bytes);
  }
  const std::uint32_t group = groups ? groups[at.index] : number_;
  supersede(group, g.waves, g.clock(), g.what.bytes);
  if (g.what.bytes != 0) {
    RaceMark* oldest = others.data();
    for (RaceMark& mark : others)
      if (mark.bytes == 0 || (oldest->bytes != 0 && mark.clock < oldest->clock)) oldest = &mark;
    if (oldest->bytes == 0 || oldest->clock < g.clock())
      *oldest = {g.clock(), group, g.waves, g.slot(), g.what.bytes, g.what.kind};
  }
  g = {RaceGranule::moment(actor_.clock, actor_.slot), actor_.bit, {bytes, 0, others_of(others, actor_.clock)}};
  if (groups) groups[at.index] = number_;
}

// Adds to a mark of the group what the same instruction does: other bytes of the wave, or another wave's load.
bool RaceCheck::join(RaceMark& mark, std::uint16_t bytes, std::uint8_t kind) const {
  if (mark.slot != actor_.slot || mark.clock != actor_.clock || mark.kind != kind) return false;
  if (mark.waves == actor_.bit) {
    mark.bytes |= bytes;
    return true;
  }
  if (kind & RaceMark::writes || mark.bytes != bytes) return false;
  mark.waves |= actor_.bit;
  return true;
}

// Against every recorded access.
void RaceCheck::touch(const Place& at, std::uint16_t bytes, const RaceRun& run) {
  RaceGranule& g = at.shadow.granules()[at.index];
  if (actor_.kind == 0 && g.what.kind == 0 && (g.what.others & RaceGranule::writers) == 0 && g.what.bytes != 0)
    return touch_loaded(at, bytes);
  std::uint32_t* const groups = at.shadow.groups();
  RaceMark latest{g.clock(), groups ? groups[at.index] : number_, g.waves, g.slot(), g.what.bytes, g.what.kind};
  RaceOthers* others = g.what.others != 0 ? &at.shadow.others(at.index) : nullptr;
  std::uint8_t kind = actor_.kind;
  const bool writes = kind & RaceMark::writes;
  repeats_ = repeats(at, bytes, run);
  const auto recorded = static_cast<std::uint8_t>(repeats_ ? RaceMark::repeats : 0);
  RaceMark *place = nullptr, *joined = nullptr;
  const auto look = [&](RaceMark& mark) {
    if (mark.bytes == 0) {
      if (!place) place = &mark;
      return;
    }
    const bool own = mark.group == number_;
    if (own && join(mark, bytes, kind | recorded)) {
      joined = &mark;
      return;
    }
    const auto both = static_cast<std::uint16_t>(mark.bytes & bytes);
    const bool ordered = (own && (mark.waves == actor_.bit || mark.clock <= actor_.floor)) ||
                         clocks_[actor_.wave].knows(mark.group, mark.waves, mark.clock);
    if (ordered) {
      // A lock that the wave took since the last barrier is released.
      if (both != 0 && writes && mark.kind & RaceMark::atomic && own && mark.waves == actor_.bit &&
          mark.clock > actor_.floor && !marks_stores(mark) && !(kind & RaceMark::atomic))
        become_atomic(kind, at.base + static_cast<unsigned>(std::countr_zero(both)));
      // What races with the older one also races with this one.
      if (writes || !(mark.kind & RaceMark::writes)) mark.bytes = static_cast<std::uint16_t>(mark.bytes & ~both);
      // Only the group sees the LDS, and all waves have passed the barrier after that access.
      if (space_ == Space::lds && mark.clock <= actor_.floor) mark.bytes = 0;
      if (mark.bytes == 0 && !place) place = &mark;
    } else if (both != 0 && (writes || mark.kind & RaceMark::writes) && !(kind & mark.kind & RaceMark::atomic)) {
      conflict(at, mark, bytes & mark.bytes, run, kind);
    }
  };
  look(latest);
  if (others)
    for (RaceMark& mark : *others) look(mark);
  if (joined) {
    if (joined != &latest) std::swap(*joined, latest);
  } else {
    if (!place) place = others ? &least_needed(latest, *others) : new_others(at.shadow.others(at.index), others);
    if (place != &latest) *place = latest;
    latest = {
        actor_.clock, number_,
        actor_.bit,   actor_.slot,
        bytes,        static_cast<std::uint8_t>(kind | recorded | (actor_.stored_kind & RaceMark::unknown_value))};
  }
  g = {RaceGranule::moment(latest.clock, latest.slot),
       latest.waves,
       {latest.bytes, latest.kind, others ? others_of(*others, latest.clock) : std::uint8_t{0}}};
  if (groups) groups[at.index] = latest.group;
}

}  // namespace rapt::sim
