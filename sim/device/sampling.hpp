// Which workgroups of a launch run, and what is recorded of them for its forecast.
#pragma once

#include "sim/device/group_order.hpp"
#include "sim/device/timed_launch.hpp"

#include <atomic>
#include <memory>
#include <optional>

namespace rapt::sim {

// What is recorded of one workgroup.
struct Recording {
  timing::Recorder recorder;
  bool ends_early;          // the workgroup stops once it is recorded far enough
  std::uint64_t bytes = 0;  // that the recording took when it was last looked at
};

class Sampling {
 public:
  // Throws Fault if a time is asked for and the launch can have none.
  Sampling(const Launch& launch, const Program& program, const TimeRequest& time);

  bool timed() const { return timed_ != nullptr; }
  // Whether workgroups run as on a device: as many as it holds at once, in turn, in one order and on one thread. Those
  // that draw tickets do, for a forecast depends on who draws which.
  bool in_step() const { return in_step_; }
  std::uint64_t resident_groups() const { return timed_->resident_groups(); }

  std::uint64_t total() const { return order_.total(); }
  std::array<std::uint32_t, 3> place(std::uint64_t number) const { return order_.place(number); }
  // From any thread: the workgroup that starts next; none if all have started.
  std::optional<std::uint64_t> next();
  // Null if the workgroup is not recorded.
  std::unique_ptr<Recording> record(std::uint64_t number) const;
  // Throws Fault if the launch's recordings take too much memory.
  void check(Recording& recording);
  void keep(Recording& recording);  // once it is complete, from any thread

  // Null if no time was asked for.
  std::shared_ptr<const timing::Forecast> forecast(const Program& program);

 private:
  const std::string& kernel_;
  std::unique_ptr<TimedLaunch> timed_;
  bool in_step_ = false, sample_only_ = false;
  GroupOrder order_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> recorded_{0};  // bytes
};

}  // namespace rapt::sim
