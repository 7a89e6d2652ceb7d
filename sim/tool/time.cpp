// rapt-sim time: how long a program's kernels would take, and where the time goes.
#include "common/atomic_file.hpp"
#include "sim/tool/child.hpp"
#include "sim/tool/time_report.hpp"
#include "sim/tool/tool.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

namespace rapt::sim::tool {
namespace {

struct TimeOptions {
  std::string arch, kernel, html, json;
  double flops = 0;
  bool sample = false;
  std::vector<std::string> program;
};

void check_flops(const TimeOptions& options, const Json& times) {
  if (options.flops == 0 || times["kernels"].size() == 1) return;
  throw InputError(fmt::format("--flops: {} kernels were launched ({}); --kernel picks the one that these are of",
                               times["kernels"].size(), kernel_names(times)));
}

int time_command(const TimeOptions& options) {
  if (!options.arch.empty()) check_archs(options.arch);
  const TemporaryFolder folder;
  const std::string file = folder.file("time.json");
  Variables variables{{"RAPT_SIM_TIME", options.sample ? "sample" : "1"}, {"RAPT_SIM_TIME_REPORT", file}};
  if (!options.arch.empty()) variables.emplace_back("RAPT_SIM_ARCH", options.arch);
  const Ending ending = run_program(options.program, variables);
  std::fflush(stdout);
  if (!ending.good()) fmt::print(stderr, "rapt-sim: the program ended with {}\n", ending.text());
  std::ifstream stream(file);
  if (!stream) {
    fmt::print(stderr, "rapt-sim: no kernel was timed: none was launched, or the program did not return from main\n");
    return 1;
  }
  Json times = Json::parse(stream);
  if (!options.kernel.empty()) keep_only(times, options.kernel);
  check_flops(options, times);
  for (const Json& kernel : times["kernels"])
    fmt::print("\n{}", time_text(kernel, times["model"].get<std::string>(), options.flops));
  if (!options.json.empty()) common::write_file(options.json, times.dump() + "\n");
  if (!options.html.empty()) common::write_file(options.html, time_html(times, options.flops));
  return ending.good() ? 0 : 1;
}

}  // namespace

void add_time(CLI::App& app, Action& action) {
  auto o = std::make_shared<TimeOptions>();
  CLI::App* sub = app.add_subcommand("time", "Run a program and forecast how long its kernels take on a GPU, and why");
  sub->add_option("--arch", o->arch, "The simulated devices: gfx942, gfx942:mi308x, or a comma list (RAPT_SIM_ARCH)");
  sub->add_option("--kernel", o->kernel, "Only this kernel");
  sub->add_option("--flops", o->flops, "Floating-point operations of one launch, for TFLOP/s")
      ->check(CLI::PositiveNumber)
      ->check([](const std::string& text) { return text == "nan" || text == "-nan" ? "Value nan is no number" : ""; });
  sub->add_flag("--sample", o->sample, "Run only the workgroups that are timed: quick, but outputs are incomplete");
  sub->add_option("--html", o->html, "Write a page with a timeline of one compute unit to this file");
  sub->add_option("--json", o->json, "Write all numbers to this file");
  sub->add_option("program", o->program, "The program and its arguments, after --")->required();
  sub->footer(
      "Examples:\n"
      "  rapt-sim time -- ./program\n"
      "  rapt-sim time --arch gfx942:mi308x --kernel gemm --flops 2.2e12 --html time.html -- ./program --size 1024");
  sub->callback([o, &action] { action = [o] { return time_command(*o); }; });
}

}  // namespace rapt::sim::tool
