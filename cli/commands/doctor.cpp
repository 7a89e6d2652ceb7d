#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/doctor_report.hpp"
#include "cli/core/placement.hpp"
#include "cli/core/report.hpp"

namespace rapt::cli {

namespace {

struct DoctorOptions {
  std::string problem;
  bool report = false;
};

constexpr const char* kTypicalProblems[] = {
    "b1 hq12 hk12 sq1024 sk1024 d64 fp32 causal",
    "b1 hq32 hk8 sq4096 sk4096 d128 bf16 causal",
    "b8 hq32 hk8 sq1 sk8192 d128 fp16 paged=16",
};

void print_tiers() {
  fmt::print("\ncpu instruction tiers, fastest on this processor first\n");
  bool used = false;
  for (const CpuTier& tier : cpu_tiers()) {
    const char* state = !tier.available ? "not on this machine" : used ? "available" : "used";
    used |= tier.available;
    fmt::print("  {:<12}  {}\n", tier.name, state);
  }
  for (const Candidate& c : explain(Problem::parse("b1 hq1 hk1 sq1 sk1 d64 bf16")).candidates)
    if (c.backend == "cpu") fmt::print("  {}\n", c.reason);
}

// A GPU's archive has dozens of kernels. `rapt explain` lists all; here are the chosen one and the other backends.
void print_gpu_problem(const Problem& problem, rapt_device device) {
  const Explanation e = explain(problem, RAPT_FORWARD, {}, device);
  fmt::print("\nforward {} on {}\n", problem.text(), device_name(device));
  for (const Candidate& c : e.candidates)
    if (c.backend == gpu_backend(device))
      fmt::print("  {} {}\n    {}\n", c.chosen ? "->" : "none:", c.kernel, c.reason);
}

void print_problem(const std::string& text) {
  const Problem problem = Problem::parse(text);
  for (const rapt_op op : {RAPT_FORWARD, RAPT_BACKWARD}) {
    if (op == RAPT_BACKWARD && problem.c().page != 0) continue;  // a cache has no gradients
    fmt::print("\n{} {}\n", op == RAPT_FORWARD ? "forward" : "backward", problem.text());
    print_candidates(explain(problem, op), "  ");
  }
  for (const rapt_device device : gpus()) print_gpu_problem(problem, device);
}

int doctor_command(const DoctorOptions& options) {
  if (options.report) return doctor_report();
  print_machine();
  print_tiers();
  print_devices();
  print_archives(false);
  print_gpus_without_kernels();
  if (!options.problem.empty()) {
    print_problem(options.problem);
    return 0;
  }
  for (const char* typical : kTypicalProblems) print_problem(typical);
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto o = std::make_shared<DoctorOptions>();
  CLI::App* sub = app.add_subcommand("doctor", "Show the machine, the backends, and what would run here and why");
  sub->add_option("problem", o->problem, "A problem as text; without it, a few typical ones");
  sub->add_flag("--report", o->report, "A complete report about a GPU, with checks and times, to be posted as a whole");
  sub->footer(
      "Examples:\n"
      "  rapt doctor\n"
      "  rapt doctor \"b1 hq8 hk8 sq2048 sk2048 d64 fp16 causal\"\n"
      "  rapt doctor --report > report.txt");
  sub->callback([o, &action] { action = [o] { return doctor_command(*o); }; });
}

}  // namespace rapt::cli
