// The options of commands that compare the kernels of problems: which problems, and on which GPU.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/commands/device_option.hpp"

namespace rapt::cli {

inline void add_wanted_options(CLI::App& sub, std::string& record, std::string& device, std::string& op) {
  sub.add_option("--record", record, "Also the problems that a program ran with RAPT_RECORD=FILE");
  add_device_option(sub, device);
  sub.get_option("--device")->required();
  sub.add_option("--op", op, "fwd, bwd or both, for tables and problems")
      ->check(CLI::IsMember({"fwd", "bwd", "both"}))
      ->capture_default_str();
}

}  // namespace rapt::cli
