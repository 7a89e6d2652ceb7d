// One simulated GPU: properties of the real product, and the launch of a kernel.
#pragma once

#include "sim/loader/code_object.hpp"

#include <array>
#include <string_view>

namespace rapt::sim {

struct Properties {
  Arch arch;
  std::string_view product;   // "AMD Instinct MI300X"
  std::string_view gcn_name;  // "gfx942:sramecc+:xnack-"
  unsigned compute_units, simds_per_unit, lanes;
  unsigned lds_bytes_per_group, lds_bytes_per_unit;
  unsigned vgprs_per_simd;  // 32-bit registers a lane
  unsigned max_waves_per_simd, max_group_size;
  std::uint64_t memory_bytes;
  unsigned memory_bus_bits, memory_clock_khz, clock_khz, l2_bytes, pci_device_id;
  unsigned memory_gigabytes_per_second;  // peak, 10^9 bytes
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

// Runs the kernel to its end, on the threads of the process. Throws Fault (machine/fault.hpp) with a report that names
// the kernel, instruction, wave, lane and address.
LaunchResult run(const Launch& launch, int device);

}  // namespace rapt::sim
