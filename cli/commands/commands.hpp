// Each add_* adds one subcommand, which sets `action` if the command line names it.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace rapt::cli {

using Action = std::function<int()>;  // returns the exit code

void add_doctor(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_compare(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_kernels(CLI::App& app, Action& action);
void add_install_aotriton(CLI::App& app, Action& action);

}  // namespace rapt::cli
