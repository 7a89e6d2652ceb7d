// The GPUs that HIP lists. What is asked once is kept: devices do not change while a process runs.
#pragma once

#include <string>

#include "gpu/hip.hpp"

namespace rapt::gpu {

struct Device {
  int32_t id = 0;
  std::string name;    // "AMD Instinct MI300X"
  std::string target;  // as HIP names the architecture: "gfx942:sramecc+:xnack-"
  std::string arch;    // of it, what archives are named by: "gfx942"
  int32_t compute_units = 0;
  int32_t xcds = 1;  // dies that workgroups are dealt out to in turn, each with a cache of its own
  uint64_t memory = 0;
  bool reads_host_memory = false;  // any of it, by page migration or one address space

  std::string text() const { return cat("hip:", id); }
};

int32_t device_count();            // 0 where HIP finds none; throws Error where there is no HIP
const Device& device(int32_t id);  // throws Error for one that HIP does not list

// The architecture of a target: "gfx90a" of "gfx90a:sramecc+:xnack-".
std::string arch_of(const std::string& target);

}  // namespace rapt::gpu
