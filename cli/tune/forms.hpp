// Problems that stand in for one of a program's: whose tensors can be made, and small enough to check.
#pragma once

#include "rapt/rapt.hpp"

namespace rapt::cli {

// The same work on tensors that this command makes: compact and aligned, packed lengths in host memory, a paged cache.
Problem made_form(const Problem& problem);

// A made form with few heads and sequences that are short but of several tiles and a part: what float64 arithmetic on
// the host checks within a second. Same options, same kernel.
Problem small_form(const Problem& made);

}  // namespace rapt::cli
