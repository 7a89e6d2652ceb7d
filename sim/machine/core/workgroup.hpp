// A workgroup while it runs: its waves, its LDS, its barriers. One host thread works on it at a time.
#pragma once

#include "sim/machine/core/wave.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rapt::sim {

class Program;
class Profile;
class Trace;
struct Kernel;

// A split barrier (gfx12); barrier -1, which holds the whole workgroup, serves s_barrier of the older architectures
// too.
struct Barrier {
  std::uint32_t members = 0;    // waves that must signal
  std::uint32_t signalled = 0;  // in this phase
  std::uint64_t phase = 0;      // phases completed
};

class Workgroup {
 public:
  std::array<std::uint32_t, 3> id{};
  std::vector<Wave> waves;
  std::vector<unsigned char> lds;  // the allocation, rounded up to the machine's granule
  std::uint32_t lds_bytes = 0;     // what the kernel asked for: static and dynamic
  std::uint32_t live_waves = 0;
  Barrier barrier;

  const Program* program = nullptr;
  const Kernel* kernel = nullptr;
  Checks* checks = nullptr;    // the sanitizer's state, or none
  Profile* profile = nullptr;  // what is counted beyond instructions and clocks, or none
  Trace* trace = nullptr;      // where one of its waves is followed
  bool watched() const { return checks || profile || trace; }
};

}  // namespace rapt::sim
