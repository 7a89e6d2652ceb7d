// Whether a kernel computes the right results at all, before it is timed.
#pragma once

#include <optional>
#include <string>

#include "rapt/rapt.hpp"

namespace rapt::cli {

// The problem with few heads and sequences that are short but of several tiles and a part: what float64 arithmetic on
// the host checks within a second. Same options, same kernel.
Problem small_form(const Problem& problem);

// Runs `rapt verify` for the kernel in a process of its own: a kernel that writes where it must not ends the use of the
// GPU by its process, and one that hangs can only be left that way. "" if the results are right, otherwise what is
// wrong; empty if it was not known after so many seconds.
std::optional<std::string> try_out(const Problem& problem, rapt_op op, rapt_device device, const std::string& backend,
                                   double seconds);

}  // namespace rapt::cli
