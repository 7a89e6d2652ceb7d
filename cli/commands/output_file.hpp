// Options that name a file for results. They are checked before anything runs: a long bench must not fail at its end.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace rapt::cli {

void add_output_file(CLI::App& command, const std::string& name, std::string& file, const std::string& help);

}  // namespace rapt::cli
