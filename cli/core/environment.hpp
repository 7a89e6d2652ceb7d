// What a user's environment changes: variables that choose what runs, or slow it down, and releases with a known fault.
#pragma once

#include <string>
#include <vector>

#include "rapt/rapt.hpp"

namespace rapt::cli {

struct Variable {
  std::string name, value;
};

std::vector<Variable> environment_variables();                         // that are set and change what runs, or how fast
std::vector<std::string> environment_warnings();                       // why times that are measured now mislead
std::vector<std::string> rocm_warnings(const rapt_device_info& info);  // what the user's ROCm gets wrong for the device

// A line for each variable, then one for each warning: the same in every command's status.
void print_environment(const std::string& indent);

}  // namespace rapt::cli
