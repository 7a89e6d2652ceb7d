// Named lists of problems for `rapt verify`.
#pragma once

#include <string>
#include <vector>

#include "cli/inputs/kind.hpp"

namespace rapt::cli {

struct VerifyCase {
  std::string problem;
  InputKind kind = InputKind::normal;
  bool forward_only = false;
};

const std::vector<std::string>& suite_names();
std::vector<VerifyCase> suite(const std::string& name);  // throws InputError

}  // namespace rapt::cli
