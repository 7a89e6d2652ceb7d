// What the LDS of a forward kernel's workgroup holds.
#pragma once

#include <string>
#include <vector>

#include "rapt/rapt.hpp"

namespace rapt::cli {

struct LdsPart {
  std::string what;  // "K 2 x 32 x 256 x 2", the factors of `bytes`
  int64_t bytes;
};

// The parts, largest first; empty where this command does not know them or they do not add up to the kernel's bytes.
std::vector<LdsPart> lds_parts(const rapt_kernel& kernel);

// Two lines: the MI300X report's sum for the kernel's tile, and what the kernel has instead.
std::string lds_text(const rapt_kernel& kernel, const std::string& name, const rapt_device_info& device);

}  // namespace rapt::cli
