// Stand-ins for a program's problem: one whose tensors can be made, and one small enough to check.
#pragma once

#include "rapt/rapt.hpp"

namespace rapt::cli {

// The same work on tensors that this command makes: compact and aligned, packed lengths in host memory, a paged cache.
Problem made_form(const Problem& problem);

// A made form with few heads and short sequences, still of several tiles and a part of one. Float64 arithmetic on the
// host checks it within a second. It has the same options and takes the same kernel.
Problem small_form(const Problem& made);

}  // namespace rapt::cli
