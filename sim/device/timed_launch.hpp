// The recordings that a launch's forecast is made from.
#pragma once

#include "sim/device/device.hpp"
#include "sim/timing/launch_time.hpp"
#include "sim/timing/recorder.hpp"

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace rapt::sim {

class TimedLaunch {
 public:
  // Throws Fault if the workgroup does not fit on a compute unit.
  TimedLaunch(const TimeRequest& request, const Launch& launch);

  // How much of a group that begins now is recorded; none if it is not. From any thread.
  std::optional<timing::Extent> recorded(std::uint64_t group) const;
  bool in_sample(std::uint64_t group) const { return sample_.contains(group); }
  std::size_t sample_size() const { return sample_.size(); }
  // The sample in ascending order, then the first die's others, which are recorded while the launch may be a small one.
  std::vector<std::uint64_t> groups() const;
  void add(timing::GroupTrace trace);  // from any thread
  // Once, when all are there. Throws Fault if the sample is too small for the chip's interval.
  timing::Forecast forecast(const Program& program);
  const timing::Chip& chip() const { return chip_; }
  // That the device holds at once.
  std::uint64_t resident_groups() const {
    return std::uint64_t{chip_.dies} * chip_.units_per_die * plan_.groups_per_unit;
  }

 private:
  bool times_every_group() const;  // of the first die, as far as is known
  bool on_first_die(std::uint64_t group) const { return group % chip_.dies == 0; }
  void take_every_group();
  void keep_sample(const Program& program);

  const timing::Chip& chip_;
  std::string kernel_;
  std::uint64_t total_;
  timing::Plan plan_, counted_;  // the groups that are timed, and a larger sample whose lengths are counted
  std::unordered_map<std::uint64_t, timing::Extent> sample_;
  std::uint64_t most_to_time_whole_;
  std::atomic<std::uint64_t> instructions_;  // that all groups of the first die have at least
  std::mutex mutex_;
  timing::Traces traces_;
};

}  // namespace rapt::sim
