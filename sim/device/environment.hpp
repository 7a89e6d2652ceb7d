// The environment variables that steer execution, read once (docs/simulator.md lists them all).
#pragma once

#include <cstdint>

namespace rapt::sim {

enum class TimeMode : std::uint8_t { off, whole, sample, all, unknown };

struct Environment {
  unsigned threads;          // RAPT_SIM_THREADS: host threads that run workgroups; the computer's cores
  std::uint64_t seed;        // RAPT_SIM_SEED: order of waves and workgroups; 0: by number
  std::uint64_t wave_limit;  // RAPT_SIM_LIMIT: instructions of one wave after which its kernel counts as endless
  TimeMode time;  // RAPT_SIM_TIME: 1, sample (only the workgroups that are timed run) or all (all are timed);
                  // off if unset or 0; with any other word there is no device
};
const Environment& environment();

}  // namespace rapt::sim
