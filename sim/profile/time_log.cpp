#include "sim/profile/time_log.hpp"

#include "sim/profile/process_report.hpp"
#include "sim/profile/settings.hpp"
#include "sim/profile/time_report.hpp"

#include <algorithm>

namespace rapt::sim {

void TimeLog::add(const Launch& launch, const timing::Chip& chip, const timing::Forecast& forecast) {
  const std::lock_guard lock(mutex_);
  const auto code = codes_.of(launch);
  auto kernel = std::find_if(kernels_.begin(), kernels_.end(), [&](const KernelTimes& k) {
    return k.code == code && k.name == launch.kernel->name && k.chip == &chip;
  });
  if (kernel == kernels_.end()) {
    KernelTimes made;
    made.name = launch.kernel->name;
    made.chip = &chip;
    made.code = code;
    made.entry = entry_slot(launch);
    made.slots.resize(forecast.slots.size());
    made.first = forecast;
    made.first.slots.clear();
    kernels_.push_back(std::move(made));
    kernel = std::prev(kernels_.end());
  }
  for (std::size_t n = 0; n < forecast.slots.size(); ++n) kernel->slots[n] += forecast.slots[n];
  ++kernel->launch_count;
  kernel->total_microseconds += forecast.microseconds;
  if (kernel->microseconds.size() < KernelTimes::kept_launches) kernel->microseconds.push_back(forecast.microseconds);
}

std::string TimeLog::report() const { return times_json(kernels_); }

TimeLog* TimeLog::process() {
  static ProcessReport<TimeLog> instance("RAPT_SIM_TIME_REPORT", time_report_settings());
  return instance.log();
}

}  // namespace rapt::sim
