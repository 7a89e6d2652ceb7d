#include "sim/device/schedule.hpp"

#include "sim/device/environment.hpp"
#include "sim/device/workers.hpp"
#include "sim/profile/profile.hpp"

#include <algorithm>
#include <deque>

namespace rapt::sim {
namespace {

// Instructions of a workgroup before another one has its turn.
constexpr std::uint64_t step = 1 << 8;  // a few instructions of each wave
constexpr std::uint64_t short_turn = 1 << 12;
constexpr std::uint64_t long_turn = 1 << 20;
// No group of a timed launch waits for another one unless groups run in step. Running each to its end keeps few whole
// recordings in memory at once.
constexpr std::uint64_t timed_turn = 1 << 28;

void raise(std::atomic<std::uint64_t>& highest, std::uint64_t value) {
  std::uint64_t seen = highest;
  while (seen < value && !highest.compare_exchange_weak(seen, value)) {
  }
}

}  // namespace

// Of one host thread.
struct Schedule::Places {
  std::deque<std::unique_ptr<GroupPlace>> active, idle;
};

GroupPlace::GroupPlace(const LaunchSetup& setup, const Program& program, int device, std::unique_ptr<Profile> counts,
                       RaceLaunch* races, Trace* trace)
    : scratch(setup.scratch_bytes_per_wave() * setup.waves_per_group(), device),
      profile(std::move(counts)),
      runner(setup, program, scratch.address(), 0, {races, profile.get(), trace}) {}

void GroupTotals::add(const GroupRunner& runner) {
  instructions_ += runner.instructions();
  raise(longest_, runner.longest_wave());
  const auto clocks = runner.clocks();
  for (unsigned p = 0; p < pipe_count; ++p) clocks_[p] += clocks[p];
}

std::uint64_t GroupTotals::device_cycles(Arch arch) const {
  std::uint64_t cycles = longest_;
  for (unsigned p = 0; p < pipe_count; ++p) {
    const std::uint64_t pipes =
        std::uint64_t{properties(arch).compute_units} * pipes_per_unit(Pipe{static_cast<std::uint8_t>(p)}, arch);
    cycles = std::max(cycles, (clocks_[p] + pipes - 1) / pipes);
  }
  return cycles;
}

void Schedule::run() {
  const std::uint64_t most = sampling_.in_step() ? 1 : environment().threads;
  run_parallel(static_cast<unsigned>(std::min(most, sampling_.total())), [this] {
    try {
      work();
    } catch (...) {
      failed_ = true;
      throw;
    }
  });
}

void Schedule::work() {
  const std::uint64_t most_active = sampling_.in_step() ? sampling_.resident_groups() : ~std::uint64_t{0};
  Places places;
  bool crowded = false;  // all active groups have had a turn
  while (!failed_.load(std::memory_order_relaxed)) {
    if ((places.active.empty() || crowded) && places.active.size() < most_active && start_another(places))
      crowded = false;
    if (places.active.empty()) return;
    auto place = std::move(places.active.front());
    places.active.pop_front();
    const bool ended = turn(*place);
    std::unique_ptr<Recording>& recording = place->recording;
    const bool recorded =
        recording && (ended || (recording->ends_early && recording->recorder.full(place->runner.group())));
    if (recorded) sampling_.keep(*recording);
    if (ended) totals_.add(place->runner);
    if (ended || recorded) {
      places.idle.push_back(std::move(place));
    } else {
      places.active.push_back(std::move(place));
      crowded = true;
    }
  }
}

// False if every group has started.
bool Schedule::start_another(Places& places) {
  const std::optional<std::uint64_t> number = sampling_.next();
  if (!number) return false;
  if (places.idle.empty()) places.idle.push_back(make_place_());
  places.active.push_front(std::move(places.idle.back()));
  places.idle.pop_back();
  GroupPlace& place = *places.active.front();
  place.recording = sampling_.record(*number);
  place.runner.begin(sampling_.place(*number), environment().seed,
                     place.recording ? &place.recording->recorder : nullptr);
  if (place.recording) place.recording->recorder.begin_group(place.runner.group(), *number);
  return true;
}

std::uint64_t Schedule::budget(const GroupPlace& place) const {
  if (sampling_.in_step()) return step;
  if (place.recording && place.recording->ends_early) return short_turn;
  return sampling_.timed() ? timed_turn : long_turn;
}

// True once the group has ended.
bool Schedule::turn(GroupPlace& place) {
  const std::uint64_t most = budget(place);
  const std::uint64_t slice = place.recording ? std::min(most, short_turn) : most;
  for (std::uint64_t spent = 0; spent < most; spent += slice) {
    if (place.runner.advance(slice, environment().wave_limit)) return true;
    if (place.recording) sampling_.check(*place.recording);
  }
  return false;
}

}  // namespace rapt::sim
