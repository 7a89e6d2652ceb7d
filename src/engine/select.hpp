// Selection: the first backend of the list that the request allows and that takes the problem. explain() shows every
// backend's answer.
#pragma once

#include "engine/backend.hpp"

namespace rapt {

struct Explanation {
  std::string problem;
  std::vector<Candidate> candidates;
};

// Throws Error: RAPT_UNSUPPORTED, with every backend's reason, if none takes the problem; RAPT_INVALID_ARGUMENT for an
// unknown backend name.
Plan make_plan(const Question& question);

Explanation explain(const Question& question);

}  // namespace rapt
