#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/device_option.hpp"
#include "cli/core/placement.hpp"
#include "cli/core/report.hpp"

namespace rapt::cli {

namespace {

struct ExplainOptions {
  std::string problem, backend = "auto", device = "cpu";
  bool backward = false;
};

int explain_command(const ExplainOptions& options) {
  const Problem problem = Problem::parse(options.problem);
  const rapt_device device = parse_device(options.device);
  const rapt_op op = options.backward ? RAPT_BACKWARD : RAPT_FORWARD;
  if (on_gpu(device)) fmt::print("{}\n", device_text(device));
  const Explanation e = explain(problem, op, {.backend = options.backend}, device);
  fmt::print("{} {}: {:.4g} FLOPs\n", options.backward ? "backward" : "forward", e.problem, flops(problem, op));
  print_candidates(e, "  ");
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* sub =
      app.add_subcommand("explain", "Say which backend and kernel would run a problem, and why not the others");
  sub->add_option("problem", options->problem, "The problem as text")->required();
  sub->add_flag("--backward", options->backward, "The backward pass instead of the forward pass");
  sub->add_option("--backend", options->backend, "Explain what asking for this backend would do")
      ->capture_default_str();
  add_device_option(*sub, options->device);
  sub->footer("Example:\n  rapt explain \"b1 hq8 hk8 sq4096 sk4096 d128 bf16 causal\"");
  sub->callback([options, &action] { action = [options] { return explain_command(*options); }; });
}

}  // namespace rapt::cli
