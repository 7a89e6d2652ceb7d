// Workgroups on the host's threads: each thread runs several in turn, so that one that waits for another one ends.
#pragma once

#include "sim/device/group_runner.hpp"
#include "sim/device/sampling.hpp"

#include <atomic>
#include <functional>

namespace rapt::sim {

// The memory and the watchers of a workgroup; the next one reuses them.
struct GroupPlace {
  GroupPlace(const LaunchSetup& setup, const Program& program, int device, std::unique_ptr<Profile> counts,
             RaceLaunch* races, Trace* trace);

  LaunchMemory scratch;
  std::unique_ptr<Profile> profile;  // null if nothing is counted
  GroupRunner runner;
  std::unique_ptr<Recording> recording;  // null if the workgroup is not recorded
};

// What the workgroups of a launch did, by the clock model. From any thread.
class GroupTotals {
 public:
  void add(const GroupRunner& runner);
  std::uint64_t instructions() const { return instructions_; }
  // No pipe of the device and no wave can do its work in less time.
  std::uint64_t device_cycles(Arch arch) const;

 private:
  std::atomic<std::uint64_t> instructions_{0}, longest_{0};
  std::array<std::atomic<std::uint64_t>, pipe_count> clocks_{};
};

class Schedule {
 public:
  using MakePlace = std::function<std::unique_ptr<GroupPlace>()>;

  Schedule(Sampling& sampling, MakePlace make_place) : sampling_(sampling), make_place_(std::move(make_place)) {}

  // Runs every workgroup of the sampling; rethrows what stops one.
  void run();
  const GroupTotals& totals() const { return totals_; }

 private:
  struct Places;

  void work();
  bool start_another(Places& places);
  std::uint64_t budget(const GroupPlace& place) const;
  bool turn(GroupPlace& place);

  Sampling& sampling_;
  MakePlace make_place_;
  GroupTotals totals_;
  std::atomic<bool> failed_{false};
};

}  // namespace rapt::sim
