// The rapt-sim command: parses the command line, runs one subcommand, and turns every failure into a message on stderr
// and an exit code: 1 if the program failed or launched nothing, 2 for bad usage, input or output.
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

namespace {

constexpr int bad_input = 2;

int fail(const char* message) {
  fmt::print(stderr, "rapt-sim: {}\n", message);
  return bad_input;
}

int run(int argc, char** argv) {
  using namespace rapt::sim::tool;
  CLI::App app("Runs HIP programs on a simulated AMD GPU, and shows what they do there.\n", "rapt-sim");
  app.set_version_flag("--version", std::string("rapt-sim ") + RAPT_SIM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 the program failed or launched no kernel, 2 bad usage, input or output.\n"
      "`rapt-sim COMMAND --help` has each command's options and examples.");
  Action action;
  add_profile(app, action);
  add_time(app, action);
  add_trace(app, action);
  add_disasm(app, action);
  add_opcodes(app, action);
  add_validate(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : bad_input;
  }
  const int code = action();
  if (std::fflush(stdout) != 0 || std::ferror(stdout)) return fail("cannot write to standard output");
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the size limit is a failed write, with a message
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return fail("out of memory");
  } catch (const std::exception& e) {
    return fail(e.what());
  }
}
