#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/bench/output.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/device_option.hpp"
#include "cli/commands/ops.hpp"
#include "cli/commands/output_file.hpp"
#include "cli/commands/seconds.hpp"
#include "cli/inputs/error.hpp"
#include "common/atomic_file.hpp"

namespace rapt::cli {

namespace {

struct BenchOptions {
  std::vector<std::string> what, backends;
  std::string rows, json, html, op, layout = "bshd", device = "cpu";
  int threads = 0;
  std::optional<double> budget;
  double seconds = 1;
  int samples = 30, warm_up = 0, iterations = 0;
  uint64_t seed = 1;
  bool progress = false;
};

std::vector<BenchCase> cases_of(const BenchOptions& options) {
  std::vector<BenchCase> cases;
  for (const std::string& what : options.what) {
    if (is_bench_table(what)) {
      const std::vector<BenchCase> table = bench_table(what);
      cases.insert(cases.end(), table.begin(), table.end());
    } else if (what.find(' ') == std::string::npos) {
      throw InputError(
          fmt::format("'{}' is neither a table ({}) nor a problem text", what, fmt::join(bench_table_names(), ", ")));
    } else {
      cases.push_back({"", "problem", "", Problem::parse(what).text()});
    }
  }
  return options.rows.empty() ? cases : filter_rows(cases, options.rows);
}

// Seconds for all rows; 0: no limit. Forecasts have none unless it is asked for: seconds on the host depend little
// on the size of what is forecast, so they say nothing of the next row's.
double budget_of(const BenchOptions& options, rapt_device device) {
  constexpr double kDefault = 300;
  if (options.budget) return *options.budget;
  return on_gpu(device) && describe(device).simulator ? 0 : kDefault;
}

BenchPlan plan_of(const BenchOptions& options) {
  BenchPlan plan;
  plan.cases = cases_of(options);
  plan.backends = options.backends;
  plan.device = parse_device(options.device);
  plan.every_kernel =
      is_report(plan, "mi300x-d256") && options.backends.empty() && options.op != "bwd" && options.op != "both";
  plan.ops = ops_of(plan.every_kernel ? "fwd" : options.op);
  plan.seed = options.seed;
  plan.rule.samples = options.samples;
  plan.rule.most_seconds = options.seconds;
  constexpr int kWarmUp = 10, kIterations = 100;  // the MI300X report's
  plan.rule.warm_up_calls = plan.every_kernel && !options.warm_up ? kWarmUp : options.warm_up;
  plan.rule.iterations = plan.every_kernel && !options.iterations ? kIterations : options.iterations;
  plan.layout = layout_of(options.layout == "bhsd", false);
  if (const double budget = budget_of(options, plan.device); budget > 0) {
    plan.budget = budget;
    // A small budget is divided among all rows: many short measurements rather than a few long ones.
    const double measurements = 4.0 * static_cast<double>(std::max<size_t>(plan.cases.size(), 1));
    plan.rule.most_seconds = std::min(options.seconds, std::max(0.05, plan.budget / measurements));
  }
  plan.rule.least_seconds = std::min(plan.rule.least_seconds, plan.rule.most_seconds);
  return plan;
}

int bench_command(const BenchOptions& options) {
  const BenchPlan plan = plan_of(options);
  const Team team(options.threads);
  Progress progress(options.progress);
  BenchRunner runner(plan, team, progress);
  const std::unique_ptr<BenchLayout> layout = bench_layout(plan, team);
  layout->begin();
  std::vector<BenchRow> rows;
  for (const BenchCase& c : plan.cases) {
    const std::vector<BenchRow> measured = runner.run(c);
    progress.clear();
    layout->print(measured);
    rows.insert(rows.end(), measured.begin(), measured.end());
  }
  const bool right = layout->end(rows);
  if (!options.json.empty()) common::write_file(options.json, bench_json(rows));
  if (!options.html.empty()) common::write_file(options.html, bench_html(rows));
  return right && std::none_of(rows.begin(), rows.end(), [](const BenchRow& r) { return r.failed; }) ? 0 : 1;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  auto o = std::make_shared<BenchOptions>();
  CLI::App* sub = app.add_subcommand("bench", "Measure problems or named tables against the machine's peak");
  sub->add_option("what", o->what, fmt::format("Tables ({}) or problems as text", fmt::join(bench_table_names(), ", ")))
      ->required();
  sub->add_option("--backend", o->backends,
                  "Only this backend (repeatable); otherwise every backend that takes the problem")
      ->take_all()
      ->allow_extra_args(false);
  add_device_option(*sub, o->device);
  sub->add_option("--threads", o->threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  sub->add_option("--op", o->op, "fwd, bwd or both")->check(CLI::IsMember({"fwd", "bwd", "both"}))->default_str("both");
  sub->add_option("--rows", o->rows, "Only these rows: names or FIRST..LAST, separated by commas");
  sub->add_option("--budget", o->budget,
                  "Seconds in total; rows that do not fit are listed as left out. 0: no limit, as for forecasts")
      ->check(seconds_from(0))
      ->default_str("300");
  sub->add_option("--seconds", o->seconds, "The most seconds of sampling per row and backend")
      ->check(seconds_from(1e-6))
      ->capture_default_str();
  sub->add_option("--samples", o->samples, "Enough samples")->check(CLI::Range(1, 1000000))->capture_default_str();
  sub->add_option("--warmup", o->warm_up, "Calls before the first sample; otherwise as many as it takes to settle")
      ->check(CLI::Range(1, 1000000));
  sub->add_option("--iterations", o->iterations,
                  "Exactly this many samples of one call each, in place of --samples and --seconds")
      ->check(CLI::Range(1, 1000000));
  sub->add_option("--seed", o->seed, "Seed of the random inputs")->capture_default_str();
  sub->add_option("--layout", o->layout, "Memory layout of q, k and v: bshd or bhsd")
      ->check(CLI::IsMember({"bshd", "bhsd"}))
      ->capture_default_str();
  add_output_file(*sub, "--json", o->json, "Write one JSON object per line to this file");
  add_output_file(*sub, "--html", o->html, "Write a report with plots to this file");
  sub->add_flag("--progress", o->progress, "Report progress on stderr even if it is not a terminal");
  sub->footer(
      "Examples:\n"
      "  rapt bench strix-halo --rows Tiny..Medium --budget 30\n"
      "  rapt bench \"b1 hq4 hk4 sq2048 sk2048 d128 bf16\" --threads 1 --backend cpu --op fwd\n"
      "  rapt bench decode --json rows.json --html report.html\n"
      "  rapt bench strix-halo --device hip:0\n"
      "  rapt bench mi300x-d256 --device hip:0 --warmup 10 --iterations 100\n"
      "On a GPU, strix-halo alone is printed as in the report that it comes from. So is mi300x-d256, with every "
      "kernel\n"
      "that can run it; it is forward only unless --op says otherwise.");
  sub->callback([o, &action] { action = [o] { return bench_command(*o); }; });
}

}  // namespace rapt::cli
