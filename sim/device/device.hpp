// One simulated GPU: properties of the real product, and the launch of a kernel.
#pragma once

#include "kernels/architectures.hpp"
#include "sim/loader/code_object.hpp"

#include <array>
#include <string_view>

namespace rapt::sim {

struct Properties : Architecture {
  Arch arch;
};
const Properties& properties(Arch arch);

class Profiler;
class Tracer;

struct Launch {
  const CodeObject* object = nullptr;
  const Kernel* kernel = nullptr;
  std::array<std::uint32_t, 3> groups{1, 1, 1};  // workgroups of the grid
  std::array<std::uint32_t, 3> group_size{1, 1, 1};
  std::array<std::uint32_t, 3> last_group_size{0, 0,
                                               0};  // 0: as the others (hipExtModuleLaunchKernel with a ragged grid)
  std::span<const std::byte> arguments;  // explicit ones, as laid out by the metadata; hidden ones are filled in
  std::uint32_t dynamic_lds = 0;
  Profiler* profiler = nullptr;  // counts it, where there is one (profile/profiler.hpp)
  Tracer* tracer = nullptr;      // may follow one of its waves (profile/trace.hpp)
};

struct LaunchResult {
  std::uint64_t cycles = 0;  // of the model's clock, on the whole device; see docs/simulator.md
  std::uint64_t instructions = 0;
};

// Runs the kernel to its end, on the threads of the process. Throws Fault (machine/core/fault.hpp) with a report that names
// the kernel, instruction, wave, lane and address.
LaunchResult run(const Launch& launch, int device);

}  // namespace rapt::sim
