#include "sim/device/timed_launch.hpp"

#include "sim/device/occupancy.hpp"
#include "sim/machine/core/fault.hpp"
#include "sim/timing/accuracy.hpp"
#include "sim/timing/device_addresses.hpp"

#include <cstdio>

namespace rapt::sim {
namespace {

constexpr std::uint64_t timed_groups = 96, counted_groups = 384;
constexpr std::uint64_t every = timing::all_instructions;

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
      total_(std::uint64_t{launch.groups[0]} * launch.groups[1] * launch.groups[2]),
      most_to_time_whole_(request.most_to_time_whole),
      instructions_((total_ + chip_.dies - 1) / chip_.dies) {
  const unsigned per_unit = groups_per_unit(chip_, launch);
  plan_ = make_plan(chip_, total_, per_unit, timed_groups);
  counted_ = make_plan(chip_, total_, per_unit, counted_groups);
  plan_.placement = {on_one_unit(*launch.kernel, properties(chip_.arch)),
                     static_cast<unsigned>(launch.kernel->descriptor.group_segment_fixed_size + launch.dynamic_lds)};
  for (const auto& crowd : plan_.crowds)
    for (const std::uint64_t group : crowd) sample_[group] = {timing::crowd_instructions, timing::crowd_instructions};
  std::vector<std::uint64_t> counted = counted_.groups();
  counted.insert(counted.end(), {0, total_ - 1});
  for (const std::uint64_t group : counted) sample_.try_emplace(group, every, 0).first->second.most = every;
  for (const std::uint64_t place : plan_.places)
    for (unsigned die = 0; die < chip_.dies; ++die)
      sample_.try_emplace(place + die, every, 0).first->second.most = every;
  for (const std::uint64_t group : plan_.groups()) sample_[group] = {every, every};
}

bool TimedLaunch::times_every_group() const { return instructions_ <= most_to_time_whole_; }

std::optional<timing::Extent> TimedLaunch::recorded(std::uint64_t group) const {
  if (on_first_die(group) && times_every_group()) return timing::Extent{every, every};
  const auto found = sample_.find(group);
  return found == sample_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<std::uint64_t> TimedLaunch::groups() const {
  std::vector<std::uint64_t> all;
  for (const auto& [group, extent] : sample_) all.push_back(group);
  std::sort(all.begin(), all.end());
  if (times_every_group())
    for (std::uint64_t group = 0; group < total_; group += chip_.dies)
      if (!in_sample(group)) all.push_back(group);
  return all;
}

void TimedLaunch::add(timing::GroupTrace trace) {
  if (on_first_die(trace.number)) instructions_ += trace.instructions;
  const std::lock_guard lock(mutex_);
  traces_.emplace(trace.number, std::move(trace));
}

void TimedLaunch::take_every_group() {
  timing::Plan plan = make_plan(chip_, total_, plan_.groups_per_unit, every);
  plan.placement = plan_.placement;
  plan.followed = plan_.followed;
  plan_ = counted_ = std::move(plan);
}

// Nothing may depend on which of the others ended before it was known that the launch is not small.
void TimedLaunch::keep_sample(const Program& program) {
  std::erase_if(traces_, [&](const auto& trace) { return !in_sample(trace.first); });
  for (auto& [number, trace] : traces_)
    for (timing::WaveTrace& wave : trace.waves) cut(wave, sample_.at(number).kept, program);
}

timing::Forecast TimedLaunch::forecast(const Program& program) {
  if (times_every_group()) take_every_group();
  else keep_sample(program);
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
