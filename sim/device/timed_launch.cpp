#include "sim/device/timed_launch.hpp"

#include "sim/device/occupancy.hpp"
#include "sim/machine/core/fault.hpp"
#include "sim/timing/accuracy.hpp"
#include "sim/timing/device_addresses.hpp"

#include <cstdio>

namespace rapt::sim {
namespace {

constexpr std::uint64_t timed_groups = 96, counted_groups = 384, crowd_instructions = 8192;
constexpr std::uint64_t every = ~std::uint64_t{0};

unsigned groups_per_unit(const timing::Chip& chip, const Launch& launch) {
  const Properties& p = properties(chip.arch);
  const unsigned size = launch.group_size[0] * launch.group_size[1] * launch.group_size[2];
  const unsigned groups = groups_per_multiprocessor(*launch.kernel, p, size, launch.dynamic_lds);
  if (groups == 0)
    throw Fault(FaultKind::illegal_instruction, launch.kernel->name + " cannot be timed: no workgroup of " +
                                                    std::to_string(size) + " fits on a compute unit");
  return groups;
}

}  // namespace

TimedLaunch::TimedLaunch(const TimeRequest& request, const Launch& launch)
    : chip_(*request.chip),
      kernel_(launch.kernel->name),
      total_(std::uint64_t{launch.groups[0]} * launch.groups[1] * launch.groups[2]) {
  const unsigned per_unit = groups_per_unit(chip_, launch);
  plan_ = make_plan(chip_, total_, per_unit, request.every_group ? every : timed_groups);
  counted_ = make_plan(chip_, total_, per_unit, request.every_group ? every : counted_groups);
  plan_.placement = {on_one_unit(*launch.kernel, properties(chip_.arch)),
                     static_cast<unsigned>(launch.kernel->descriptor.group_segment_fixed_size + launch.dynamic_lds)};
  for (const auto& crowd : plan_.crowds)
    for (const std::uint64_t group : crowd) recorded_[group] = {crowd_instructions, crowd_instructions};
  std::vector<std::uint64_t> counted = counted_.groups();
  counted.insert(counted.end(), {0, total_ - 1});
  for (const std::uint64_t group : counted) recorded_.try_emplace(group, every, 0).first->second.most = every;
  for (const std::uint64_t place : plan_.places)
    for (unsigned die = 0; die < chip_.dies; ++die)
      recorded_.try_emplace(place + die, every, 0).first->second.most = every;
  for (const std::uint64_t group : plan_.groups()) recorded_[group] = {every, every};
}

std::optional<timing::Extent> TimedLaunch::recorded(std::uint64_t group) const {
  const auto found = recorded_.find(group);
  return found == recorded_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::uint64_t> TimedLaunch::groups() const {
  std::vector<std::uint64_t> all;
  for (const auto& [group, extent] : recorded_) all.push_back(group);
  std::sort(all.begin(), all.end());
  return all;
}

void TimedLaunch::add(timing::GroupTrace trace) {
  const std::lock_guard lock(mutex_);
  traces_.emplace(trace.number, std::move(trace));
}

timing::Forecast TimedLaunch::forecast(const Program& program) {
  timing::DeviceAddresses addresses(chip_.line_bytes);
  for (auto& [number, trace] : traces_) addresses.move(trace);
  timing::Forecast forecast = timing::forecast(chip_, program, plan_, counted_, total_, traces_);
  if (const double most = timing::accuracy_of(chip_).within; forecast.sample_error > most) {
    char text[160];
    std::snprintf(text, sizeof text,
                  " cannot be timed from a sample: the mean length of its %llu workgroups is known to +- %.0f %%, "
                  "must be to %.0f %%; RAPT_SIM_TIME=all times all",
                  static_cast<unsigned long long>(total_), 100 * forecast.sample_error, 100 * most);
    throw Fault(FaultKind::illegal_instruction, kernel_ + text);
  }
  return forecast;
}

}  // namespace rapt::sim
