// What a code object says about its kernels (AMDGPUUsage, "Code Object V3 Metadata" to V5).
#pragma once

#include "sim/loader/code_object.hpp"

namespace rapt::sim {

struct KernelMetadata {
  Kernel kernel;                // all but the descriptor and the entry
  std::string descriptor_name;  // of the symbol
  std::uint32_t kernarg_size = 0, group_segment_size = 0, private_segment_size = 0;
};

// notes: the bytes of a PT_NOTE segment. No kernels if it has no metadata.
std::vector<KernelMetadata> read_metadata(std::span<const std::byte> notes);

}  // namespace rapt::sim
