#include "sim/check/races/races.hpp"

namespace rapt::sim {

RaceCheck::RaceCheck(Workgroup& group, RaceLaunch& launch)
    : group_(group),
      launch_(launch),
      code_(*group.program),
      number_(launch.add_group(group.id)),
      lds_((group.lds.size() + RaceGranule::size - 1) / RaceGranule::size, RaceShadow::Of::one_group) {
  for (const Wave& wave : group.waves) clocks_.emplace_back(launch.stamps, number_, wave.index);
  barrier_.resize(group.waves.size());
  phase_ = group.barrier.phase;
}

void RaceCheck::before(Wave&, const Entry& entry) {
  entry_ = &entry;
  stored_dwords_ = 0;
}

void RaceCheck::access(Wave& wave, const Instruction& i, const Access& access) {
  if (access.space == Space::scratch || access.lanes == 0) return;
  WaveClock& clock = clocks_[wave.index];
  barrier_[wave.index].accessed = true;
  const bool atomic = access.action == Action::atomic || entry_->effects.atomic ||
                      (access.space == Space::global && entry_->races.coherent);
  space_ = access.space;
  actor_.wave = wave.index;
  actor_.bit = 1U << wave.index;
  actor_.slot = entry_->slot;
  actor_.kind = static_cast<std::uint8_t>((access.action != Action::load ? RaceMark::writes : 0) |
                                          (atomic ? RaceMark::atomic : 0));
  actor_.floor = clock.group_floor();
  if (atomic) {
    // Release before memory changes; acquire what others released after the value was read.
    if (access.action != Action::load) {
      const Release release = clock.release();
      for_lanes(access.lanes, [&](unsigned lane) { atomics().add(access.at[lane], release); });
    }
    if (access.action == Action::load) {
      Later& later = later_.emplace_back(Later{access, {}});
      for_lanes(access.lanes, [&](unsigned lane) { later.at[lane] = access.at[lane]; });
      return;
    }
    if (!entry_->effects.writes().empty())
      for_lanes(access.lanes, [&](unsigned lane) { to_acquire_.emplace_back(access.space, access.at[lane]); });
  }
  touch_access(wave, i, access);
  // This may be an unmarked flag: later accesses are not released with it.
  if (access.action == Action::store && std::has_single_bit(access.lanes)) clock.end_epoch();
}

void RaceCheck::after(Wave& wave, const Entry& entry) {
  if (!later_.empty() || !to_acquire_.empty()) {
    for (Later& later : later_) {
      later.access.at = later.at.data();
      space_ = later.access.space;
      touch_access(wave, entry.instruction, later.access);
      for_lanes(later.access.lanes, [&](unsigned lane) { acquire(later.at[lane]); });
    }
    for (const auto& [space, address] : to_acquire_) {
      space_ = space;
      acquire(address);
    }
    later_.clear();
    to_acquire_.clear();
  }
  if (entry.effects.unit == Unit::barrier) barrier(wave.index, entry.instruction.opcode->name);
  else if (group_.barrier.phase != phase_) complete_phase();  // a wave ended, and the others had arrived
}

// gfx12's split barrier: what is before a signal is known after the wait.
void RaceCheck::barrier(unsigned wave, std::string_view name) {
  BarrierState& state = barrier_[wave];
  state.waits = name == "s_barrier" || name == "s_barrier_wait";
  if (name != "s_barrier_wait") {
    state.arrived = clocks_[wave].release();
    state.signalled = true;
    state.accessed = state.passed = false;
  }
  if (group_.barrier.phase != phase_) complete_phase();
  else if (name == "s_barrier_wait" && !state.signalled && !state.passed) pass(wave, launch_.stamps.next());
}

void RaceCheck::complete_phase() {
  phase_ = group_.barrier.phase;
  const Stamp now = launch_.stamps.next();
  phase_releases_.clear();
  for (unsigned q = 0; q < barrier_.size(); ++q) {
    BarrierState& state = barrier_[q];
    if (state.signalled) phase_releases_.push_back(state.arrived);
    phase_clocks_[q] = state.signalled && state.accessed ? state.arrived.clock : now - 1;
    state.signalled = false;
  }
  for (unsigned q = 0; q < barrier_.size(); ++q)
    if (barrier_[q].waits && !barrier_[q].passed) pass(q, now);
  launch_.publish(number_, now, nullptr);
}

void RaceCheck::pass(unsigned wave, Stamp now) {
  clocks_[wave].pass_barrier(phase_clocks_, static_cast<unsigned>(barrier_.size()), phase_releases_, now);
  barrier_[wave].passed = true;
}

std::unique_ptr<Observer> make_race_check(Workgroup& group, RaceLaunch& launch) {
  return std::make_unique<RaceCheck>(group, launch);
}

}  // namespace rapt::sim
