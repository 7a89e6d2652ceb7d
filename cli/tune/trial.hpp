// Whether a kernel computes the right results at all, before it is timed.
#pragma once

#include <optional>
#include <string>

#include "rapt/rapt.hpp"

namespace rapt::cli {

// Runs `rapt verify` for the kernel in a process of its own: a kernel that writes where it must not ends the use of the
// GPU by its process, and one that hangs can only be left that way. "" if the results are right, otherwise what is
// wrong; empty if it was not known after so many seconds.
std::optional<std::string> try_out(const Problem& problem, rapt_op op, rapt_device device, const std::string& backend,
                                   double seconds);

}  // namespace rapt::cli
