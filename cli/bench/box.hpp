// The boxes and grids of the published reports that tables reproduce, and the status that stands above them.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/case.hpp"

namespace rapt::cli {

std::string box(const std::string& title);

// A table in characters: the first column is left-aligned, every other one right-aligned.
std::string grid(const std::vector<std::string>& header, const std::vector<std::vector<std::string>>& rows);

// The version, the device, where times come from, the variables that matter and the AOTriton that PyTorch loads.
void print_status(const BenchPlan& plan);

// "simulated (time model 7), not measured"; "" where times are measured.
std::string simulated_times(const std::vector<BenchRow>& rows);

}  // namespace rapt::cli
