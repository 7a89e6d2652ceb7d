// A launch: its code, the watchers of its workgroups, and the results of running them.
#include "sim/check/races/launch.hpp"
#include "sim/device/schedule.hpp"
#include "sim/machine/core/program.hpp"
#include "sim/profile/profiler.hpp"
#include "sim/profile/trace.hpp"

namespace rapt::sim {
namespace {

const Program& program_of(const CodeObject& object, const Kernel& kernel) {
  const std::lock_guard lock(object.decoding);
  auto& slot = object.decoded[kernel.lanes == 64];
  if (!slot) slot = std::make_shared<Program>(object.text(), DecodeMode{object.arch(), kernel.lanes});
  return *static_cast<const Program*>(slot.get());
}

}  // namespace

LaunchResult run(const Launch& launch, int device, Followers followers, TimeRequest time) {
  const Program& program = program_of(*launch.object, *launch.kernel);
  const LaunchSetup setup(launch, device);
  const auto races = check_options().races ? std::make_unique<RaceLaunch>() : nullptr;
  const auto counts = followers.profiler ? std::make_unique<LaunchCounts>() : nullptr;
  const auto trace = followers.tracer ? followers.tracer->begin(launch) : nullptr;
  Sampling sampling(launch, program, time);
  Schedule schedule(sampling, [&] {
    auto profile =
        counts ? std::make_unique<Profile>(program, std::array{launch.groups[0], launch.groups[1]}, *counts) : nullptr;
    return std::make_unique<GroupPlace>(setup, program, device, std::move(profile), races.get(), trace.get());
  });
  try {
    schedule.run();
  } catch (const std::exception& failure) {
    if (counts) followers.profiler->add(launch, *counts, 0, failure.what());
    throw;
  }
  LaunchResult result;
  result.instructions = schedule.totals().instructions();
  result.cycles = schedule.totals().device_cycles(launch.object->arch());
  if (counts) followers.profiler->add(launch, *counts, result.cycles, {});
  result.forecast = sampling.forecast(program);
  return result;
}

}  // namespace rapt::sim
