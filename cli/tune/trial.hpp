// Checks that a kernel computes the right results, before it is timed.
#pragma once

#include <optional>
#include <string>

#include "rapt/rapt.hpp"

namespace rapt::cli {

// Runs `rapt verify` for the kernel in a process of its own. A kernel that writes where it must not ends its process's
// use of the GPU, and a kernel that hangs ends only with its process. Returns "" if the results are right, otherwise
// what is wrong; empty if that is unknown after `seconds`.
std::optional<std::string> try_out(const Problem& problem, rapt_op op, rapt_device device, const std::string& backend,
                                   double seconds);

}  // namespace rapt::cli
