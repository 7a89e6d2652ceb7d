#include "sim/device/sampling.hpp"

#include "sim/device/environment.hpp"
#include "sim/machine/core/fault.hpp"
#include "sim/timing/code_flow.hpp"

#include <cstdio>

namespace rapt::sim {
namespace {

[[noreturn]] void refuse(FaultKind kind, const std::string& kernel, const std::string& why) {
  throw Fault(kind, kernel + " cannot be timed: " + why);
}

bool runs_in_step(const Launch& launch, const Program& program) {
  const Kernel& kernel = *launch.kernel;
  const auto code = timing::reached(program, kernel.entry);
  if (!code)
    refuse(FaultKind::illegal_instruction, kernel.name,
           "it jumps to an address in registers, where a loop may wait for another workgroup");
  if (const auto branch = timing::branch_decided_by_loads(*code)) {
    char place[32];
    std::snprintf(place, sizeof place, "+0x%x",
                  static_cast<unsigned>(4 * std::uint64_t{*branch} + program.base() - kernel.entry));
    refuse(FaultKind::illegal_instruction, kernel.name,
           std::string("a workgroup may wait for another one: the loop with the branch at ") + place +
               " goes on until a load finds a new value");
  }
  return timing::draws_tickets(*code);
}

}  // namespace

Sampling::Sampling(const Launch& launch, const Program& program, const TimeRequest& time)
    : kernel_(launch.kernel->name),
      timed_(time.chip ? std::make_unique<TimedLaunch>(time, launch) : nullptr),
      in_step_(timed_ && runs_in_step(launch, program)),
      sample_only_(timed_ && time.sample_only && !in_step_),
      order_(launch.groups, sample_only_ ? timed_->groups() : std::vector<std::uint64_t>{},
             in_step_ ? 0 : environment().seed) {}

std::optional<std::uint64_t> Sampling::next() {
  for (std::uint64_t n = next_++; n < order_.total(); n = next_++)
    if (const std::uint64_t number = order_.number(n); !sample_only_ || timed_->recorded(number)) return number;
  return std::nullopt;
}

std::unique_ptr<Recording> Sampling::record(std::uint64_t number) const {
  const auto extent = timed_ ? timed_->recorded(number) : std::nullopt;
  if (!extent) return nullptr;
  return std::make_unique<Recording>(
      Recording{timing::Recorder(timed_->chip().line_bytes, *extent, timed_->resident_groups()),
                sample_only_ && extent->most != timing::all_instructions});
}

void Sampling::check(Recording& recording) {
  constexpr std::uint64_t gib = 1 << 30, most = 4;
  const std::uint64_t now = bytes(recording.recorder.trace());
  recorded_ += now - recording.bytes;
  recording.bytes = now;
  if (recorded_ > most * gib)
    refuse(FaultKind::endless, kernel_,
           "its workgroups have not ended although what they did takes " + std::to_string(most) + " GiB");
}

void Sampling::keep(Recording& recording) {
  timing::GroupTrace trace = recording.recorder.end_group();
  recorded_ += bytes(trace) - recording.bytes;
  timed_->add(std::move(trace));
}

std::shared_ptr<const timing::Forecast> Sampling::forecast(const Program& program) {
  return timed_ ? std::make_shared<timing::Forecast>(timed_->forecast(program)) : nullptr;
}

}  // namespace rapt::sim
