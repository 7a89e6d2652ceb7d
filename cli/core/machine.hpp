// Properties of this machine, for `rapt doctor` and the device of a benchmark row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rapt::cli {

struct Cache {
  int level = 0;
  std::string type;  // Data, Instruction, Unified
  int64_t bytes = 0;
};

struct Machine {
  std::string cpu, architecture;
  int cores = 1;  // that this process may use
  std::vector<Cache> caches;
  int64_t last_level_cache = 0;
  int64_t memory = 0;
};

const Machine& machine();
std::string best_cpu_tier();  // that it runs
int64_t available_memory();   // now, in bytes

// This process's memory. After reset_peak, peak_memory counts from then on, if the kernel allows it.
bool reset_peak_memory();
int64_t resident_memory();
int64_t peak_memory();

std::string bytes_text(int64_t bytes);  // "1.5 GiB"

}  // namespace rapt::cli
