// The layouts of published reports.
#pragma once

#include <memory>

#include "cli/bench/output.hpp"

namespace rapt::cli {

// A table per size, forward and backward side by side; a summary; each type checked.
std::unique_ptr<BenchLayout> strix_halo_layout(const BenchPlan& plan);

// Every kernel that can run a configuration, the chosen one and their speed-up over native; what LDS holds.
std::unique_ptr<BenchLayout> mi300x_d256_layout(const BenchPlan& plan);

}  // namespace rapt::cli
