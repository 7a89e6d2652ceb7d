// A workgroup while it runs: its waves, its LDS, its barriers. One host thread works on it at a time.
#pragma once

#include "sim/machine/core/observer.hpp"
#include "sim/machine/core/wave.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace rapt::sim {

class Program;
struct Kernel;

// A split barrier (gfx12); barrier -1, of the whole workgroup, is also the one of s_barrier on older
// architectures.
struct Barrier {
  std::uint32_t members = 0;    // waves that must signal
  std::uint32_t signalled = 0;  // in this phase
  std::uint64_t phase = 0;      // phases completed
};

class Workgroup {
 public:
  std::array<std::uint32_t, 3> id{};
  std::vector<Wave> waves;
  std::vector<unsigned char> lds;  // the allocation, rounded up to the hardware's granule
  std::uint32_t lds_bytes = 0;     // what the kernel requested: static and dynamic
  std::uint32_t live_waves = 0;
  Barrier barrier;

  const Program* program = nullptr;
  const Kernel* kernel = nullptr;
  std::vector<Observer*> observers;  // in the order in which they look at an instruction; after it, in reverse
  bool checked = false;              // the sanitizer is among them: accesses beyond what was requested are faults
};

}  // namespace rapt::sim
