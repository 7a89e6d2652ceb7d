#include "cli/commands/device_option.hpp"

#include <CLI/CLI.hpp>

namespace rapt::cli {

void add_device_option(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "cpu, or a GPU that `rapt doctor` lists, e.g. hip:0 or cuda:0")
      ->capture_default_str();
}

}  // namespace rapt::cli
