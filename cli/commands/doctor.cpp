#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"
#include "cli/core/machine.hpp"
#include "cli/core/report.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kTypicalProblems[] = {
    "b1 hq12 hk12 sq1024 sk1024 d64 fp32 causal",
    "b1 hq32 hk8 sq4096 sk4096 d128 bf16 causal",
    "b8 hq32 hk8 sq1 sk8192 d128 fp16 paged=16",
};

void print_machine() {
  const Machine& m = machine();
  fmt::print("rapt {}\n\nmachine\n", rapt_version_string());
  fmt::print("  cpu     {} ({}), {} core{} usable\n", m.cpu, m.architecture, m.cores, m.cores == 1 ? "" : "s");
  std::vector<std::string> caches;
  for (const Cache& c : m.caches)
    if (c.type != "Instruction") caches.push_back(fmt::format("L{} {}", c.level, bytes_text(c.bytes)));
  fmt::print("  caches  {}\n", caches.empty() ? "unknown" : fmt::format("{}", fmt::join(caches, ", ")));
  fmt::print("  memory  {}, {} available\n", bytes_text(m.memory), bytes_text(available_memory()));
}

void print_tiers() {
  fmt::print("\ncpu instruction tiers, best first\n");
  bool used = false;
  for (const CpuTier& tier : cpu_tiers()) {
    const char* state = !tier.available ? "not on this machine" : used ? "available" : "used";
    used |= tier.available;
    fmt::print("  {:<12}  {}\n", tier.name, state);
  }
}

void print_problem(const std::string& text) {
  const Problem problem = Problem::parse(text);
  for (const rapt_op op : {RAPT_FORWARD, RAPT_BACKWARD}) {
    if (op == RAPT_BACKWARD && problem.c().page != 0) continue;  // a cache has no gradients
    fmt::print("\n{} {}\n", op == RAPT_FORWARD ? "forward" : "backward", problem.text());
    print_candidates(explain(problem, op), "  ");
  }
}

int doctor_command(const std::string& problem) {
  print_machine();
  print_tiers();
  if (!problem.empty()) {
    print_problem(problem);
    return 0;
  }
  for (const char* typical : kTypicalProblems) print_problem(typical);
  return 0;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto problem = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("doctor", "Show the machine, the backends, and what would run here and why");
  sub->add_option("problem", *problem, "A problem as text; without it, a few typical ones");
  sub->footer("Examples:\n  rapt doctor\n  rapt doctor \"b1 hq8 hk8 sq2048 sk2048 d64 fp16 causal\"");
  sub->callback([problem, &action] { action = [problem] { return doctor_command(*problem); }; });
}

}  // namespace rapt::cli
