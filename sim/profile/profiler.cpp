#include "sim/profile/profiler.hpp"

#include "sim/profile/process_report.hpp"
#include "sim/profile/report.hpp"
#include "sim/profile/settings.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

LaunchRecord record_of(const Launch& launch, LaunchCounts& counts, std::uint64_t cycles, const std::string& failure) {
  LaunchRecord record;
  record.groups = launch.groups;
  record.group_size = launch.group_size;
  record.lds_bytes = launch.kernel->descriptor.group_segment_fixed_size + launch.dynamic_lds;
  record.cycles = cycles;
  record.instructions = counts.instructions;
  record.wave_count = counts.wave_count;
  record.wave_cycles = counts.cycles;
  record.footprint = counts.footprint.bytes();
  record.longest = counts.longest;
  record.waves = std::move(counts.waves);
  record.failure = failure;
  std::sort(record.waves.begin(), record.waves.end(), [](const WaveCounts& a, const WaveCounts& b) {
    return a.group != b.group ? a.group < b.group : a.wave < b.wave;
  });
  return record;
}

}  // namespace

void Profiler::add(const Launch& launch, LaunchCounts& counts, std::uint64_t cycles, const std::string& failure) {
  const std::lock_guard lock(mutex_);
  const auto code = codes_.of(launch);
  auto kernel = std::find_if(kernels_.begin(), kernels_.end(),
                             [&](const KernelProfile& k) { return k.code == code && k.name == launch.kernel->name; });
  if (kernel == kernels_.end()) {
    KernelProfile made;
    made.name = launch.kernel->name;
    made.code = code;
    made.entry = entry_slot(launch);
    made.vgprs = launch.kernel->vgpr_count;
    made.agprs = launch.kernel->agpr_count;
    made.sgprs = launch.kernel->sgpr_count;
    kernels_.push_back(std::move(made));
    kernel = std::prev(kernels_.end());
  }
  LaunchRecord record = record_of(launch, counts, cycles, failure);
  kernel->slots.resize(std::max(kernel->slots.size(), counts.slots.size()));
  for (std::size_t n = 0; n < counts.slots.size(); ++n) kernel->slots[n] += counts.slots[n];
  ++kernel->launch_count;
  kernel->cycles += cycles;
  kernel->footprint += record.footprint;
  kernel->groups += std::uint64_t{launch.groups[0]} * launch.groups[1] * launch.groups[2];
  kernel->waves += record.wave_count;
  kernel->longest_wave_cycles += record.longest.cycles;
  if (kernel->launches.size() < KernelProfile::kept_launches) kernel->launches.push_back(std::move(record));
}

std::string Profiler::report() const { return report_json(kernels_); }

Profiler* Profiler::process() {
  static ProcessReport<Profiler> instance("RAPT_SIM_PROFILE", profile_settings());
  return instance.log();
}

}  // namespace rapt::sim
