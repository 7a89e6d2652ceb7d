// A launch: workgroups handed out in order to the host's threads. A group that does not end in its turn lets the next
// ones run, so that code that waits for another workgroup also ends.
#include "sim/check/races/launch.hpp"
#include "sim/device/environment.hpp"
#include "sim/device/group_runner.hpp"
#include "sim/device/timed_launch.hpp"
#include "sim/device/timed_progress.hpp"
#include "sim/device/workers.hpp"
#include "sim/machine/core/fault.hpp"
#include "sim/machine/core/program.hpp"
#include "sim/profile/profiler.hpp"
#include "sim/profile/trace.hpp"
#include "sim/timing/recorder.hpp"
#include "sim/timing/tickets.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <numeric>
#include <thread>
#include <unordered_set>

namespace rapt::sim {
namespace {

const Program& program_of(const CodeObject& object, const Kernel& kernel) {
  const std::lock_guard lock(object.decoding);
  auto& slot = object.decoded[kernel.lanes == 64];
  if (!slot) slot = std::make_shared<Program>(object.text(), DecodeMode{object.arch(), kernel.lanes});
  return *static_cast<const Program*>(slot.get());
}

// The workgroups that run, in the order in which they start: of the whole grid, or `some` of it by number; or, with a
// seed, in one of many other orders.
class GroupOrder {
 public:
  GroupOrder(const std::array<std::uint32_t, 3>& groups, std::vector<std::uint64_t> some, std::uint64_t seed)
      : groups_(groups), some_(std::move(some)) {
    total_ = some_.empty() ? grid() : some_.size();
    if (seed == 0 || total_ < 2) return;
    start_ = seed % total_;
    stride_ = seed / total_ % total_ | 1;
    while (std::gcd(stride_, total_) != 1) stride_ = stride_ % total_ + 1;
  }
  std::uint64_t total() const { return total_; }
  std::uint64_t grid() const { return std::uint64_t{groups_[0]} * groups_[1] * groups_[2]; }
  // In the grid, x first.
  std::uint64_t number(std::uint64_t n) const {
    const auto place = static_cast<std::uint64_t>((static_cast<unsigned __int128>(n) * stride_ + start_) % total_);
    return some_.empty() ? place : some_[place];
  }
  std::array<std::uint32_t, 3> place(std::uint64_t number) const {
    const std::uint64_t row = number / groups_[0];
    return {static_cast<std::uint32_t>(number % groups_[0]), static_cast<std::uint32_t>(row % groups_[1]),
            static_cast<std::uint32_t>(row / groups_[1])};
  }

 private:
  std::array<std::uint32_t, 3> groups_;
  std::vector<std::uint64_t> some_;
  std::uint64_t total_ = 0, start_ = 0, stride_ = 1;
};

class Dispatch {
 public:
  Dispatch(const Launch& launch, int device, Followers followers, TimeRequest time)
      : setup_(launch, device),
        program_(program_of(*launch.object, *launch.kernel)),
        timed_(time.chip ? std::make_unique<TimedLaunch>(time, launch) : nullptr),
        tickets_(timed_ ? timing::tickets_of(program_, launch.kernel->entry) : timing::Tickets::none),
        sample_only_(timed_ && time.sample_only && tickets_ != timing::Tickets::numbers),
        order_(launch.groups, sample_only_ ? timed_->groups() : std::vector<std::uint64_t>{},
               in_step() ? 0 : environment().seed),
        recording_(sample_only_ ? timed_->sample_size() : 0),
        progress_(launch.kernel->name, tickets_ >= timing::Tickets::order && !sample_only_),
        launch_(launch),
        profiler_(followers.profiler),
        device_(device),
        races_(check_options().races ? std::make_unique<RaceLaunch>() : nullptr),
        counts_(profiler_ ? std::make_unique<LaunchCounts>() : nullptr),
        trace_(followers.tracer ? followers.tracer->begin(launch) : nullptr) {}

  LaunchResult run() {
    const std::uint64_t most = in_step() ? 1 : environment().threads;
    threads_ = static_cast<unsigned>(std::min(most, order_.total()));
    try {
      run_parallel(threads_, [this] { work(); });
    } catch (const std::exception& failure) {
      if (counts_) profiler_->add(launch_, *counts_, 0, failure.what());
      throw;
    }
    LaunchResult result;
    result.instructions = instructions_;
    result.cycles = device_cycles();
    if (counts_) profiler_->add(launch_, *counts_, result.cycles, {});
    if (timed_) result.forecast = std::make_shared<timing::Forecast>(timed_->forecast(program_));
    return result;
  }

 private:
  static constexpr std::uint64_t short_patience = 1 << 12;  // instructions

  // A group's memory, reused for the next one.
  struct Place {
    Place(const Dispatch& d, std::uint64_t bytes)
        : scratch(bytes, d.device_),
          profile(d.counts_ ? std::make_unique<Profile>(
                                  d.program_, std::array{d.launch_.groups[0], d.launch_.groups[1]}, *d.counts_)
                            : nullptr),
          runner(d.setup_, d.program_, scratch.address(), 0, {d.races_.get(), profile.get(), d.trace_.get()}) {}
    LaunchMemory scratch;
    std::unique_ptr<Profile> profile;
    GroupRunner runner;
    std::unique_ptr<timing::Recorder> recorder;  // of the group that runs, if it is recorded
    std::unique_ptr<timing::Recorder> watcher;   // of one that is not, if it runs long
    bool ends_early = false;                     // once it is recorded far enough
    TimedProgress::Group progress;
    timing::Recorder* observer() const { return recorder ? recorder.get() : watcher.get(); }
  };

  // The groups of one host thread.
  struct Groups {
    std::deque<std::unique_ptr<Place>> active, idle;
    std::deque<std::unique_ptr<Place>> parked;  // recorded far enough; they go on if another group waits for them
  };

  // Whether workgroups run as on a device, all that it holds at once in turn and in one order, because a forecast
  // depends on who draws which ticket.
  bool in_step() const { return tickets_ != timing::Tickets::none; }

  void work() {
    // Instructions of a group before another one may start. In a timed launch that does not run in step no group waits
    // for another, and running each to its end keeps few whole recordings in memory at once.
    const std::uint64_t patience = timed_ ? 1 << 28 : 1 << 20;
    constexpr std::uint64_t step = 1 << 8;  // a few instructions of each wave
    const std::uint64_t most_active = in_step() ? timed_->resident_groups() : ~std::uint64_t{0};
    Groups groups;
    bool crowded = false;  // all active groups have had a turn
    try {
      while (!failed_.load(std::memory_order_relaxed)) {
        if ((groups.active.empty() || crowded) && groups.active.size() < most_active && start_another(groups))
          crowded = false;
        if (waits_) resume(groups);
        if (groups.active.empty()) {
          // Another thread's group may still wait for one that is parked here.
          if (!sample_only_ || (recording_ == 0 && active_ == 0)) break;
          std::this_thread::sleep_for(std::chrono::microseconds(100));  // until another thread's group ends, or waits
          continue;
        }
        auto place = std::move(groups.active.front());
        groups.active.pop_front();
        const bool briefly = place->ends_early || waits_;
        const bool ended = turn(*place, in_step() ? step : briefly ? short_patience : patience);
        const bool recorded =
            place->recorder && (ended || (place->ends_early && place->recorder->full(place->runner.group())));
        if (recorded) end_recording(*place);
        if (ended || recorded) --active_;
        if (ended) {
          progress_.goes_on();
          add(place->runner);
          groups.idle.push_back(std::move(place));
        } else if (recorded) {
          groups.parked.push_back(std::move(place));
        } else {
          waits_ = waits_ || (place->recorder && place->recorder->waits());
          groups.active.push_back(std::move(place));
          crowded = true;
        }
      }
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  // About `budget` instructions of a group; true once it has ended.
  bool turn(Place& place, std::uint64_t budget) {
    constexpr std::uint64_t unwatched = 1 << 16, long_unwatched = 1 << 24;  // the latter if nobody is known to wait
    GroupRunner& runner = place.runner;
    if (timed_ && !place.observer() && runner.instructions() > (waits_ ? unwatched : long_unwatched)) watch(place);
    const std::uint64_t slice = place.observer() ? std::min(budget, short_patience) : budget;
    for (std::uint64_t spent = 0; spent < budget; spent += slice) {
      if (runner.advance(slice, environment().wave_limit)) return true;
      if (timed_) progress_.check_waits(place.progress, runner.group(), place.observer(), slice, threads_);
      if (place.recorder)
        progress_.check_recording(place.progress, runner.group(), *place.recorder, runner.instructions());
    }
    return false;
  }

  // Records nothing, but knows whether the group waits.
  void watch(Place& place) {
    place.watcher = std::make_unique<timing::Recorder>(timed_->chip().line_bytes, timing::Extent{0, 0}, 1);
    place.watcher->begin_group(place.runner.group(), 0);
    place.runner.watch(place.watcher.get());
  }

  void end_recording(Place& place) {
    place.runner.ignore(place.recorder.get());
    timing::GroupTrace trace = place.recorder->end_group();
    progress_.keep(place.progress, bytes(trace));
    if (sample_only_ && timed_->in_sample(trace.number)) --recording_;
    timed_->add(std::move(trace));
    place.recorder.reset();
    place.ends_early = false;
  }

  void add(const GroupRunner& runner) {
    instructions_ += runner.instructions();
    raise(longest_, runner.longest_wave());
    const auto clocks = runner.clocks();
    for (unsigned p = 0; p < pipe_count; ++p) clocks_[p] += clocks[p];
  }

  void resume(Groups& groups) {
    active_ += groups.parked.size();
    for (auto& place : groups.parked) groups.active.push_back(std::move(place));
    groups.parked.clear();
  }

  // False if every group has started.
  bool start_another(Groups& groups) {
    ++active_;  // before the group begins, so that no other thread leaves in between
    const std::optional<std::uint64_t> number = next_group();
    if (!number) {
      --active_;
      return false;
    }
    if (groups.idle.empty())
      groups.idle.push_back(std::make_unique<Place>(*this, setup_.scratch_bytes_per_wave() * setup_.waves_per_group()));
    groups.active.push_front(std::move(groups.idle.back()));
    groups.idle.pop_back();
    begin(*groups.active.front(), *number);
    return true;
  }

  // Of a sample the others start too once one of it waits for them.
  std::optional<std::uint64_t> next_group() {
    for (std::uint64_t n = next_group_++; n < order_.total(); n = next_group_++)
      if (const std::uint64_t number = order_.number(n); !sample_only_ || (timed_->recorded(number) && claim(number)))
        return number;
    if (waits_ && sample_only_)
      for (std::uint64_t number = next_other_++; number < order_.grid(); number = next_other_++)
        if (claim(number)) return number;
    return std::nullopt;
  }

  // False if the group has begun already.
  bool claim(std::uint64_t number) {
    const std::lock_guard lock(claiming_);
    return begun_.insert(number).second;
  }

  void begin(Place& place, std::uint64_t group) {
    place.recorder.reset();
    place.watcher.reset();
    place.progress = {};
    const auto recorded = timed_ ? timed_->recorded(group) : std::nullopt;
    if (recorded)
      place.recorder =
          std::make_unique<timing::Recorder>(timed_->chip().line_bytes, *recorded, timed_->resident_groups());
    place.ends_early = sample_only_ && recorded && recorded->most != ~std::uint64_t{0};
    place.runner.begin(order_.place(group), environment().seed, place.recorder.get());
    if (recorded) place.recorder->begin_group(place.runner.group(), group);
  }

  // No pipe of the device and no wave can do its work in less time.
  std::uint64_t device_cycles() const {
    const Arch arch = launch_.object->arch();
    std::uint64_t cycles = longest_;
    for (unsigned p = 0; p < pipe_count; ++p) {
      const std::uint64_t pipes =
          std::uint64_t{properties(arch).compute_units} * pipes_per_unit(Pipe{static_cast<std::uint8_t>(p)}, arch);
      cycles = std::max(cycles, (clocks_[p] + pipes - 1) / pipes);
    }
    return cycles;
  }

  static void raise(std::atomic<std::uint64_t>& highest, std::uint64_t value) {
    std::uint64_t seen = highest;
    while (seen < value && !highest.compare_exchange_weak(seen, value)) {
    }
  }

  LaunchSetup setup_;
  const Program& program_;
  std::unique_ptr<TimedLaunch> timed_;  // null if no time is asked for
  const timing::Tickets tickets_;
  const bool sample_only_;
  GroupOrder order_;
  std::atomic<std::uint64_t> recording_;  // of a sample, groups that are not recorded yet
  TimedProgress progress_;
  unsigned threads_ = 1;
  const Launch& launch_;
  Profiler* profiler_;
  int device_;
  std::unique_ptr<RaceLaunch> races_;
  std::unique_ptr<LaunchCounts> counts_;
  std::unique_ptr<Trace> trace_;
  std::atomic<std::uint64_t> next_group_{0}, next_other_{0}, active_{0}, instructions_{0}, longest_{0};
  std::mutex claiming_;
  std::unordered_set<std::uint64_t> begun_;  // where only a sample runs
  std::atomic<bool> waits_{false};           // a group that is recorded waits for another group
  std::array<std::atomic<std::uint64_t>, pipe_count> clocks_{};
  std::atomic<bool> failed_{false};
};

}  // namespace

LaunchResult run(const Launch& launch, int device, Followers followers, TimeRequest time) {
  return Dispatch(launch, device, followers, time).run();
}

}  // namespace rapt::sim
