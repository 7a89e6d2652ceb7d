// RAPT_RECORD=FILE: a program writes down the problems that it runs, each once, for `rapt tune --record FILE`.
#pragma once

#include "problem/problem.hpp"
#include "rapt/rapt.h"

namespace rapt {

// Adds "forward PROBLEM" or "backward PROBLEM" to the file, once per process. Does nothing without RAPT_RECORD. Throws
// Error RAPT_INVALID_ARGUMENT if the file cannot be written.
void record(const Problem& problem, rapt_op op);

}  // namespace rapt
