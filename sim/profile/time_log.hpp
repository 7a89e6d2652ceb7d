// The forecasts of a process's launches, kernel by kernel, and their report.
#pragma once

#include "sim/profile/code_copy.hpp"
#include "sim/timing/launch_time.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace rapt::sim {

struct KernelTimes {
  static constexpr std::size_t kept_launches = 100;

  std::string name;
  const timing::Chip* chip = nullptr;
  std::shared_ptr<const CodeCopy> code;
  std::uint32_t entry = 0;           // its first instruction, in dwords from the start of the text
  std::vector<double> microseconds;  // of the first launches
  std::uint64_t launch_count = 0;
  double total_microseconds = 0;
  std::vector<timing::SlotTime> slots;  // all launches together
  timing::Forecast first;               // of the first launch, without slots
};

class TimeLog {
 public:
  void add(const Launch& launch, const timing::Chip& chip, const timing::Forecast& forecast);
  // In the order of their first launches.
  const std::vector<KernelTimes>& kernels() const { return kernels_; }
  std::string report() const;  // as JSON; docs/simulator.md describes it

  // Set by RAPT_SIM_TIME_REPORT: the report is written there when the process ends. Null if it is not set.
  static TimeLog* process();

 private:
  std::mutex mutex_;
  CodeCopies codes_;
  std::vector<KernelTimes> kernels_;
};

}  // namespace rapt::sim
