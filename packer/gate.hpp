// The resource gate: what a compiled kernel uses against what its row of the manifest allows.
#pragma once

#include <string>
#include <vector>

#include "packer/compiled.hpp"
#include "packer/manifest.hpp"

namespace rapt::archive {

// A sentence for each violation, of the rules for all vendors' kernels and of its own vendor's; empty where the kernel
// passes.
std::vector<std::string> violations(const Row& row, const Architecture& arch, const Compiled& kernel);

}  // namespace rapt::archive
