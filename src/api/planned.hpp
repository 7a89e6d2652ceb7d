// A call with the problem's sizes and options but no tensors: enough to plan, not to run.
#pragma once

#include <vector>

#include "problem/call.hpp"

namespace rapt {

Problem problem_from_public(const rapt_problem& given);  // checked
rapt_op checked_op(rapt_op op);

// Owns the lengths that the call points to.
struct PlannedCall {
  PlannedCall(const Problem& p, rapt_device device);
  PlannedCall(const PlannedCall&) = delete;

  std::vector<int32_t> cu_q, cu_k;
  BackwardCall call;
};

}  // namespace rapt
