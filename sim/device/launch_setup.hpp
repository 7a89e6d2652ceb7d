// The initial state of a kernel: argument segment, dispatch packet, registers (LLVM's AMDGPUUsage, "Initial Kernel
// Execution State").
#pragma once

#include "sim/device/device.hpp"
#include "sim/machine/core/workgroup.hpp"

#include <vector>

namespace rapt::sim {

// Device memory that is freed after one launch.
class LaunchMemory {
 public:
  LaunchMemory(std::size_t bytes, int device);
  ~LaunchMemory();
  LaunchMemory(const LaunchMemory&) = delete;
  LaunchMemory& operator=(const LaunchMemory&) = delete;
  unsigned char* data() const { return data_; }
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(data_); }

 private:
  unsigned char* data_;
};

class LaunchSetup {
 public:
  LaunchSetup(const Launch& launch, int device);

  unsigned waves_per_group() const { return waves_per_group_; }
  std::uint32_t lds_bytes() const { return lds_bytes_; }
  std::uint32_t scratch_bytes_per_lane() const { return scratch_per_lane_; }
  std::uint64_t scratch_bytes_per_wave() const { return std::uint64_t{scratch_per_lane_} * launch_.kernel->lanes; }
  std::size_t registers_per_group() const {
    return std::size_t{vgpr_rows()} * launch_.kernel->lanes * waves_per_group_;
  }

  // Puts the group's waves into their initial state. `registers` holds registers_per_group() words; the scratch of wave
  // w begins at scratch_base + first_scratch_offset + w * scratch_bytes_per_wave().
  void start(Workgroup& group, std::uint32_t* registers, std::uint64_t scratch_base,
             std::uint64_t first_scratch_offset) const;

 private:
  bool one_file() const { return arch_ != Arch::gfx908; }  // VGPRs followed by AGPRs
  unsigned first_agpr() const { return one_file() ? vgprs_ : Wave::agpr_row; }
  unsigned vgpr_rows() const { return agprs_ > 0 ? first_agpr() + agprs_ : vgprs_; }
  void fill_arguments();
  void fill_packet();
  void start_scalars(Wave& wave, const Workgroup& group, std::uint64_t scratch_base,
                     std::uint64_t scratch_offset) const;
  void start_work_items(Wave& wave, const Workgroup& group) const;

  const Launch& launch_;
  Arch arch_;
  unsigned group_threads_, waves_per_group_;
  std::uint32_t lds_bytes_, scratch_per_lane_;
  std::uint32_t vgprs_, agprs_;
  LaunchMemory arguments_, packet_, queue_;
};

}  // namespace rapt::sim
