// The rapt command: parses the command line, runs one subcommand, and turns every failure into a message on stderr and
// an exit code. Exit code 0 means done, 1 that a check failed, and 2 that the command line, an input or an output is at
// fault.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "cli/commands/commands.hpp"
#include "cli/inputs/error.hpp"
#include "rapt/rapt.h"

namespace {

constexpr int kBadInput = 2;

int fail(const char* message) {
  fmt::print(stderr, "rapt: {}\n", message);
  return kBadInput;
}

int run(int argc, char** argv) {
  CLI::App app("Exact attention, forward and backward, in O(N) memory.\n", "rapt");
  app.set_version_flag("--version", std::string("rapt ") + rapt_version_string());
  app.require_subcommand(1);
  app.footer(
      "A PROBLEM is text, e.g. \"b2 hq8 hk2 sq1000 sk1000 d128 bf16 causal window=127,0\".\n"
      "Exit codes: 0 done, 1 a check failed, 2 bad usage, input or output.\n"
      "`rapt COMMAND --help` has each command's options and examples.");
  rapt::cli::Action action;
  rapt::cli::add_doctor(app, action);
  rapt::cli::add_explain(app, action);
  rapt::cli::add_verify(app, action);
  rapt::cli::add_bench(app, action);
  rapt::cli::add_compare(app, action);
  rapt::cli::add_tune(app, action);
  rapt::cli::add_run(app, action);
  rapt::cli::add_kernels(app, action);
  rapt::cli::add_install_aotriton(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : kBadInput;
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
