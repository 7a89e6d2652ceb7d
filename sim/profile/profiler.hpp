// The profile of a process: what its launches counted, kernel by kernel, and the report.
#pragma once

#include "sim/profile/code_copy.hpp"
#include "sim/profile/profile.hpp"

#include <memory>
#include <string>

namespace rapt::sim {

// What is kept of one launch, without its instructions.
struct LaunchRecord {
  std::array<std::uint32_t, 3> groups{}, group_size{};
  std::uint32_t lds_bytes = 0;
  std::uint64_t cycles = 0;  // of the device, as events count them
  std::uint64_t instructions = 0, wave_count = 0, wave_cycles = 0, footprint = 0;
  WaveCounts longest;
  std::vector<WaveCounts> waves;
  std::string failure;  // empty: it ended
};

struct KernelProfile {
  static constexpr std::size_t kept_launches = 100;

  std::string name;
  std::shared_ptr<const CodeCopy> code;
  std::uint32_t entry = 0;  // its first instruction, in dwords from the start of the text
  std::uint32_t vgprs = 0, agprs = 0, sgprs = 0;
  std::vector<SlotCounts> slots;
  std::vector<LaunchRecord> launches;  // the first ones
  std::uint64_t launch_count = 0, cycles = 0, footprint = 0, groups = 0, waves = 0;
  std::uint64_t longest_wave_cycles = 0;  // summed over the launches
};

class Profiler {
 public:
  void add(const Launch& launch, LaunchCounts& counts, std::uint64_t cycles, const std::string& failure);
  // In the order of their first launches.
  const std::vector<KernelProfile>& kernels() const { return kernels_; }
  std::string report() const;  // as JSON

  // Set by RAPT_SIM_PROFILE: the report is written there when the process ends. Null if it is not set.
  static Profiler* process();

 private:
  std::mutex mutex_;
  CodeCopies codes_;
  std::vector<KernelProfile> kernels_;
};

}  // namespace rapt::sim
