// The recordings that a launch's forecast is made from.
#pragma once

#include "sim/device/device.hpp"
#include "sim/timing/launch_time.hpp"
#include "sim/timing/recorder.hpp"

#include <mutex>
#include <optional>
#include <unordered_map>

namespace rapt::sim {

class TimedLaunch {
 public:
  // Throws Fault if the workgroup does not fit on a compute unit.
  TimedLaunch(const TimeRequest& request, const Launch& launch);

  // How much of the group is recorded; none if it is not.
  std::optional<timing::Extent> recorded(std::uint64_t group) const;
  // The groups that are recorded, in ascending order.
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
  const timing::Chip& chip_;
  std::string kernel_;
  std::uint64_t total_;
  timing::Plan plan_, counted_;  // the groups that are timed, and more of which only the lengths are known
  std::unordered_map<std::uint64_t, timing::Extent> recorded_;
  std::mutex mutex_;
  timing::Traces traces_;
};

}  // namespace rapt::sim
