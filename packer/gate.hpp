// The resource gate compares what a compiled kernel uses with what its row of the manifest allows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "packer/compiled.hpp"
#include "packer/manifest.hpp"

namespace rapt::archive {

// A sentence per violation of the common rules and of the vendor's; empty if the kernel passes.
// `said` is what the compiler printed.
std::vector<std::string> violations(const Row& row, const Architecture& arch, const Compiled& kernel,
                                    std::string_view said);

}  // namespace rapt::archive
