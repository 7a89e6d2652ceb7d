// The resource gate: what a compiled kernel uses against what its row of the manifest allows.
#pragma once

#include <string>
#include <vector>

#include "archive/code_object.hpp"
#include "archive/manifest.hpp"

namespace rapt::archive {

// A sentence for each violation; empty where the kernel passes.
std::vector<std::string> violations(const Row& row, const Arch& arch, const KernelMetadata& kernel);

}  // namespace rapt::archive
