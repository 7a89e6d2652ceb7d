// Problems over the C boundary.
#pragma once

#include "problem/problem.hpp"

namespace rapt {

Problem from_c(const rapt_problem& given);  // throws Error with every violation
rapt_problem to_c(const Problem& problem);  // without varlen, whose array is the caller's

}  // namespace rapt
