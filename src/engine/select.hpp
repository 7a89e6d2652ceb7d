// Selection: the first backend of the list that the request allows and that does not refuse the problem. explain()
// shows every backend's answer.
#pragma once

#include "engine/backend.hpp"

namespace rapt {

struct Explanation {
  std::string problem;
  std::vector<Candidate> candidates;
};

// Throws Error: RAPT_UNSUPPORTED where no backend takes the problem, with each one's reason; RAPT_INVALID_ARGUMENT for
// a backend's name that is unknown.
Plan make_plan(const Question& question);

Explanation explain(const Question& question);

}  // namespace rapt
