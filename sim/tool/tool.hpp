// The parts of the rapt-sim command.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace CLI {
class App;
}

namespace rapt::sim::tool {

// Bad command line, input or output: exit code 2.
class InputError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Action = std::function<int()>;  // gives the exit code

void add_profile(CLI::App& app, Action& action);
void add_time(CLI::App& app, Action& action);
void add_trace(CLI::App& app, Action& action);
void add_disasm(CLI::App& app, Action& action);
void add_opcodes(CLI::App& app, Action& action);
void add_validate(CLI::App& app, Action& action);

}  // namespace rapt::sim::tool
