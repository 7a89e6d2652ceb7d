// The problems that a command was given: texts, named tables, or a file that RAPT_RECORD wrote.
#pragma once

#include <string>
#include <vector>

#include "rapt/rapt.hpp"

namespace rapt::cli {

struct WantedProblem {
  rapt_op op;
  Problem problem;
};

// Each of `what` for each of `ops`, then the lines of `record` ("" if there is none), each once. Throws InputError for
// a name that is no table, and for a line that is neither "forward PROBLEM" nor "backward PROBLEM".
std::vector<WantedProblem> wanted_problems(const std::vector<std::string>& what, const std::vector<rapt_op>& ops,
                                           const std::string& record);

}  // namespace rapt::cli
