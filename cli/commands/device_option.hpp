// --device, as every command that runs attention has it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace rapt::cli {

void add_device_option(CLI::App& command, std::string& device);  // parse_device reads it

}  // namespace rapt::cli
