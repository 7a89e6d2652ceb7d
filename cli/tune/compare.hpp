// Every kernel that can run a problem on a GPU, side by side in one run.
#pragma once

#include <vector>

#include "cli/bench/case.hpp"
#include "cli/tune/kernels.hpp"
#include "cli/tune/problems.hpp"

namespace rapt::cli {

struct Comparison {
  WantedProblem wanted;
  std::vector<BenchRow> rows;  // [0] is the tuning table's choice
};

// Times the kernels in rounds for about `seconds`, each call on tensors that no cache holds.
Comparison compare_kernels(const DeviceKernels& kernels, const WantedProblem& wanted, rapt_device device,
                           double seconds);

// A line for each problem: the milliseconds of each kernel, and how many times as fast as the chosen one it is.
void print_comparisons(const std::vector<Comparison>& comparisons);

}  // namespace rapt::cli
