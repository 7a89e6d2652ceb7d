// A launch: workgroups handed out in order to the host's threads. A group that does not end in its turn lets the next
// ones run, so that code that waits for another workgroup also ends.
#include "sim/check/races/launch.hpp"
#include "sim/device/environment.hpp"
#include "sim/device/group_runner.hpp"
#include "sim/device/workers.hpp"
#include "sim/machine/core/fault.hpp"
#include "sim/machine/core/program.hpp"
#include "sim/profile/profiler.hpp"
#include "sim/profile/trace.hpp"

#include <algorithm>
#include <atomic>
#include <deque>
#include <numeric>

namespace rapt::sim {
namespace {

const Program& program_of(const CodeObject& object, const Kernel& kernel) {
  const std::lock_guard lock(object.decoding);
  auto& slot = object.decoded[kernel.lanes == 64];
  if (!slot) slot = std::make_shared<Program>(object.text(), DecodeMode{object.arch(), kernel.lanes});
  return *static_cast<const Program*>(slot.get());
}

// The grid's workgroups in the order in which they start: by number or, with a seed, in one of many other orders.
class GroupOrder {
 public:
  GroupOrder(const std::array<std::uint32_t, 3>& groups, std::uint64_t seed) : groups_(groups) {
    total_ = std::uint64_t{groups[0]} * groups[1] * groups[2];
    if (seed == 0 || total_ < 2) return;
    start_ = seed % total_;
    stride_ = seed / total_ % total_ | 1;
    while (std::gcd(stride_, total_) != 1) stride_ = stride_ % total_ + 1;
  }
  std::uint64_t total() const { return total_; }
  std::array<std::uint32_t, 3> at(std::uint64_t n) const {
    const auto place = static_cast<std::uint64_t>((static_cast<unsigned __int128>(n) * stride_ + start_) % total_);
    const std::uint64_t row = place / groups_[0];
    return {static_cast<std::uint32_t>(place % groups_[0]), static_cast<std::uint32_t>(row % groups_[1]),
            static_cast<std::uint32_t>(row / groups_[1])};
  }

 private:
  std::array<std::uint32_t, 3> groups_;
  std::uint64_t total_ = 0, start_ = 0, stride_ = 1;
};

class Dispatch {
 public:
  Dispatch(const Launch& launch, int device, Followers followers)
      : setup_(launch, device),
        program_(program_of(*launch.object, *launch.kernel)),
        order_(launch.groups, environment().seed),
        launch_(launch),
        profiler_(followers.profiler),
        device_(device),
        races_(check_options().races ? std::make_unique<RaceLaunch>() : nullptr),
        counts_(profiler_ ? std::make_unique<LaunchCounts>() : nullptr),
        trace_(followers.tracer ? followers.tracer->begin(launch) : nullptr) {}

  LaunchResult run() {
    const auto threads = static_cast<unsigned>(std::min<std::uint64_t>(environment().threads, order_.total()));
    try {
      run_parallel(threads, [this] { work(); });
    } catch (const std::exception& failure) {
      if (counts_) profiler_->add(launch_, *counts_, 0, failure.what());
      throw;
    }
    LaunchResult result;
    result.instructions = instructions_;
    result.cycles = device_cycles();
    if (counts_) profiler_->add(launch_, *counts_, result.cycles, {});
    return result;
  }

 private:
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
  };

  void work() {
    constexpr std::uint64_t patience = 1 << 20;  // instructions of a group before another one may start
    std::deque<std::unique_ptr<Place>> active, idle;
    bool crowded = false;  // all active groups have had a turn
    try {
      while (!failed_.load(std::memory_order_relaxed)) {
        if ((active.empty() || crowded) && start_another(active, idle)) crowded = false;
        if (active.empty()) break;
        auto place = std::move(active.front());
        active.pop_front();
        if (place->runner.advance(patience, environment().wave_limit)) {
          instructions_ += place->runner.instructions();
          raise(longest_, place->runner.longest_wave());
          const auto clocks = place->runner.clocks();
          for (unsigned p = 0; p < pipe_count; ++p) clocks_[p] += clocks[p];
          idle.push_back(std::move(place));
        } else {
          active.push_back(std::move(place));
          crowded = true;
        }
      }
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

  // False if every group has started.
  bool start_another(std::deque<std::unique_ptr<Place>>& active, std::deque<std::unique_ptr<Place>>& idle) {
    const std::uint64_t number = next_group_++;
    if (number >= order_.total()) return false;
    if (idle.empty())
      idle.push_back(std::make_unique<Place>(*this, setup_.scratch_bytes_per_wave() * setup_.waves_per_group()));
    active.push_front(std::move(idle.back()));
    idle.pop_back();
    active.front()->runner.begin(order_.at(number), environment().seed);
    return true;
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
  GroupOrder order_;
  const Launch& launch_;
  Profiler* profiler_;
  int device_;
  std::unique_ptr<RaceLaunch> races_;
  std::unique_ptr<LaunchCounts> counts_;
  std::unique_ptr<Trace> trace_;
  std::atomic<std::uint64_t> next_group_{0}, instructions_{0}, longest_{0};
  std::array<std::atomic<std::uint64_t>, pipe_count> clocks_{};
  std::atomic<bool> failed_{false};
};

}  // namespace

LaunchResult run(const Launch& launch, int device, Followers followers) {
  return Dispatch(launch, device, followers).run();
}

}  // namespace rapt::sim
