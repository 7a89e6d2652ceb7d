// --op of commands that run passes.
#pragma once

#include <string>
#include <vector>

#include "rapt/rapt.hpp"

namespace rapt::cli {

inline std::vector<rapt_op> ops_of(const std::string& name) {  // "fwd", "bwd", "both"
  if (name == "fwd") return {RAPT_FORWARD};
  if (name == "bwd") return {RAPT_BACKWARD};
  return {RAPT_FORWARD, RAPT_BACKWARD};
}

}  // namespace rapt::cli
