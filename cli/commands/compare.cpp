#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "cli/bench/output.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/ops.hpp"
#include "cli/commands/output_file.hpp"
#include "cli/commands/seconds.hpp"
#include "cli/commands/wanted_options.hpp"
#include "cli/core/environment.hpp"
#include "cli/core/placement.hpp"
#include "cli/inputs/error.hpp"
#include "cli/tune/compare.hpp"
#include "common/atomic_file.hpp"

namespace rapt::cli {

namespace {

struct CompareOptions {
  std::vector<std::string> what;
  std::string record, op = "fwd", json, html, device;
  double seconds = 1;
  bool progress = false;
};

int compare_command(const CompareOptions& o) {
  const rapt_device device = parse_device(o.device);
  if (!on_gpu(device)) throw InputError("--device is cpu, must be a GPU: `rapt bench` compares the CPU's backends");
  const rapt_device_info info = describe(device);
  if (info.simulator && *info.time_model == 0)
    throw InputError(fmt::format(
        "{} is a simulated GPU, and no time is modelled: RAPT_SIM_TIME=sample asks for forecasts", o.device));
  const std::vector<WantedProblem> wanted = wanted_problems(o.what, ops_of(o.op), o.record);
  if (wanted.empty()) throw InputError("there is nothing to compare: give problems, tables or --record FILE");
  fmt::print("{}, {}\n", device_text(device),
             info.simulator ? fmt::format("times are forecasts by {}", info.time_model) : "times are measured");
  print_environment("");
  fmt::print("\n");
  const DeviceKernels kernels(device);
  Progress progress(o.progress);
  std::vector<Comparison> all;
  std::vector<BenchRow> rows;
  for (const WantedProblem& w : wanted) {
    progress.show(fmt::format("{} of {}: {}", all.size() + 1, wanted.size(), w.problem.text()));
    try {
      all.push_back(compare_kernels(kernels, w, device, o.seconds));
      rows.insert(rows.end(), all.back().rows.begin(), all.back().rows.end());
    } catch (const std::exception& e) {  // no kernel takes it, or no memory: others may do
      const std::string why = e.what(), text = w.problem.text();
      progress.clear();
      fmt::print("left out: {}{}\n", why.starts_with(text) ? "" : text + ": ", why);
    }
  }
  progress.clear();
  print_comparisons(all);
  print_left_out(rows);
  if (!o.json.empty()) common::write_file(o.json, bench_json(rows));
  if (!o.html.empty()) common::write_file(o.html, bench_html(rows));
  return 0;
}

}  // namespace

void add_compare(CLI::App& app, Action& action) {
  auto o = std::make_shared<CompareOptions>();
  CLI::App* sub = app.add_subcommand("compare", "Time every GPU kernel that can run a problem, side by side");
  sub->add_option("what", o->what, "Tables of `rapt bench` or problems as text");
  add_wanted_options(*sub, o->record, o->device, o->op);
  sub->add_option("--seconds", o->seconds, "Seconds of each problem")->check(seconds_from(1e-3))->capture_default_str();
  add_output_file(*sub, "--json", o->json, "Write one JSON object per line to this file");
  add_output_file(*sub, "--html", o->html, "Write a report with plots to this file");
  sub->add_flag("--progress", o->progress, "Report progress on stderr even if it is not a terminal");
  sub->footer("Example:\n  RAPT_SIM_TIME=sample rapt compare --device hip:0 mi300x-d256 --html compare.html");
  sub->callback([o, &action] { action = [o] { return compare_command(*o); }; });
}

}  // namespace rapt::cli
