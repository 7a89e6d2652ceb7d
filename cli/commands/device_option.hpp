// --device of all commands that run attention.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace rapt::cli {

void add_device_option(CLI::App& command, std::string& device);  // parse_device reads it

}  // namespace rapt::cli
