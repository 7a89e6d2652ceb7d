// What the LDS of a forward kernel's workgroup holds.
#pragma once

#include <string>

#include "rapt/rapt.hpp"

namespace rapt::cli {

// Two lines: the MI300X report's sum for the kernel's tile, and what the kernel has instead, part by part where this
// command knows the parts.
std::string lds_text(const rapt_kernel& kernel, const std::string& name, const rapt_device_info& device);

}  // namespace rapt::cli
