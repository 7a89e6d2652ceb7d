// The engine chooses the backend of a validated call, runs the call, and explains the choice.
#pragma once

#include "engine/backend.hpp"

namespace rapt {

// The first backend that the request allows and that takes the problem. Throws Error: RAPT_UNSUPPORTED, with every
// backend's reason, if none does; RAPT_INVALID_ARGUMENT for an unknown backend name.
Plan make_plan(const Question& question);

void run(AnyCall call, const Execution& execution);
size_t workspace_bytes(AnyCall call, const Execution& execution);

struct Explanation {
  std::string problem;
  std::vector<Candidate> candidates;  // every backend's answer
};
Explanation explain(const Question& question);

}  // namespace rapt
