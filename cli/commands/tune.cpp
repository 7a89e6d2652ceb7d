#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "cli/bench/tables.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ops.hpp"
#include "cli/commands/output_file.hpp"
#include "cli/commands/seconds.hpp"
#include "cli/commands/wanted_options.hpp"
#include "cli/core/placement.hpp"
#include "cli/inputs/error.hpp"
#include "cli/tune/tuner.hpp"

namespace rapt::cli {

namespace {

struct TuneCommand {
  std::vector<std::string> what;
  std::string record, output, op = "fwd", device;
  double budget = 300;
  uint64_t seed = 1;
  bool simulated = false, progress = false;
};

int tune_command(const TuneCommand& o) {
  // Tuning replaces the archive's own choice; the user's other rows would hide that choice.
  setenv("RAPT_TUNING", "none", 1);
  const rapt_device device = parse_device(o.device);
  if (!on_gpu(device)) throw InputError("--device is cpu, must be a GPU: the CPU's tiers are chosen by the processor");
  if (!o.output.empty() && describe(device).simulator && !o.simulated)
    throw InputError(fmt::format(
        "--output is {}, and {} is a simulated GPU: its times are forecasts, which --simulated allows in a table",
        o.output, o.device));
  const std::vector<WantedProblem> wanted = wanted_problems(o.what, ops_of(o.op), o.record);
  if (wanted.empty())
    throw InputError(fmt::format("there is nothing to tune: give problems, tables ({}) or --record FILE",
                                 fmt::join(bench_table_names(), ", ")));
  Progress progress(o.progress);
  const TuneOptions options{.device = device, .budget = o.budget, .output = o.output, .seed = o.seed};
  return Tuner(options, progress).run(wanted) == 0 ? 0 : 1;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto o = std::make_shared<TuneCommand>();
  CLI::App* sub = app.add_subcommand("tune", "Find the fastest kernels for problems, and write a tuning table");
  sub->add_option("what", o->what,
                  fmt::format("Tables ({}) or problems as text", fmt::join(bench_table_names(), ", ")));
  add_wanted_options(*sub, o->record, o->device, o->op);
  sub->add_option("--budget", o->budget, "Seconds in total; the same command again goes on with what is left")
      ->check(seconds_from(1))
      ->capture_default_str();
  add_output_file(*sub, "-o,--output", o->output,
                  "The table's file, made or added to after each problem; RAPT_TUNING=FILE uses it. Otherwise printed");
  sub->add_flag("--simulated", o->simulated, "Write forecasts of a simulated GPU too");
  sub->add_option("--seed", o->seed, "Seed of the inputs and of the order")->capture_default_str();
  sub->add_flag("--progress", o->progress, "Report progress on stderr even if it is not a terminal");
  sub->footer(
      "Examples:\n"
      "  rapt tune --device cuda:0 fa3 --op both --budget 600 -o ~/.config/rapt/tuning/sm_90\n"
      "  RAPT_RECORD=problems python train.py; rapt tune --device hip:0 --record problems -o mine");
  sub->callback([o, &action] { action = [o] { return tune_command(*o); }; });
}

}  // namespace rapt::cli
