// rapt-sim trace: one wave's instructions with the values of their registers.
#include "sim/profile/settings.hpp"
#include "sim/tool/child.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

namespace rapt::sim::tool {
namespace {

struct TraceCommand {
  std::string arch, kernel, wave = "0,0";
  std::uint64_t from = 0, count = 1000;
  unsigned lanes = 4;
  std::vector<std::string> program;
};

int trace_command(const TraceCommand& options) {
  if (!options.arch.empty()) check_archs(options.arch);
  TraceOptions parsed;
  try {
    parse_wave(options.wave, parsed);
  } catch (const std::invalid_argument& failure) {
    throw InputError(fmt::format("--wave: {}", failure.what()));
  }
  const TemporaryFolder folder;
  const std::string file = folder.file("trace");
  Variables variables{{"RAPT_SIM_TRACE", file},
                      {"RAPT_SIM_TRACE_KERNEL", options.kernel},
                      {"RAPT_SIM_TRACE_WAVE", options.wave},
                      {"RAPT_SIM_TRACE_FROM", std::to_string(options.from)},
                      {"RAPT_SIM_TRACE_COUNT", std::to_string(options.count)},
                      {"RAPT_SIM_TRACE_LANES", std::to_string(options.lanes)}};
  if (!options.arch.empty()) variables.emplace_back("RAPT_SIM_ARCH", options.arch);
  const Ending ending = run_program(options.program, variables);
  std::ifstream trace(file);
  const bool any = trace && trace.peek() != std::ifstream::traits_type::eof();
  if (any) std::cout << trace.rdbuf() << std::flush;
  else
    fmt::print(stderr, "rapt-sim: {} on the simulator\n",
               options.kernel.empty() ? "no kernel was launched" : "no kernel '" + options.kernel + "' was launched");
  if (!ending.good()) fmt::print(stderr, "rapt-sim: the program ended with {}\n", ending.text());
  return any && ending.good() ? 0 : 1;
}

}  // namespace

void add_trace(CLI::App& app, Action& action) {
  auto o = std::make_shared<TraceCommand>();
  CLI::App* sub = app.add_subcommand("trace", "Run a program and print one wave's instructions with their registers");
  sub->add_option("--arch", o->arch, "The simulated devices: one architecture or a comma list (RAPT_SIM_ARCH)");
  sub->add_option("--kernel", o->kernel, "The first launch of this kernel; otherwise the program's first launch");
  sub->add_option("--wave", o->wave, "WORKGROUP,WAVE: the workgroup's number in the grid, x first; the wave's in it")
      ->capture_default_str();
  sub->add_option("--from", o->from, "The first instruction to print; the wave's first is 0")->capture_default_str();
  sub->add_option("--count", o->count, "How many instructions to print")->capture_default_str();
  sub->add_option("--lanes", o->lanes, "How many lanes of a register to print where they differ")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  sub->add_option("program", o->program, "The program and its arguments, after --")->required();
  sub->footer(
      "Examples:\n"
      "  rapt-sim trace -- ./program\n"
      "  rapt-sim trace --arch gfx1201 --kernel reduce --wave 3,1 --from 200 --count 50 --lanes 32 -- ./program x y");
  sub->callback([o, &action] { action = [o] { return trace_command(*o); }; });
}

}  // namespace rapt::sim::tool
