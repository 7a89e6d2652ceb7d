#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/device_option.hpp"
#include "cli/commands/tensor_options.hpp"
#include "cli/core/results.hpp"
#include "cli/inputs/dtype.hpp"
#include "cli/io/tensors.hpp"
#include "cli/probe/team.hpp"

namespace rapt::cli {

namespace {

struct RunOptions {
  TensorOptions tensors;
  std::string output, backend = "auto", device = "cpu";
  int threads = 0;
  bool lse = false, allow_math = false;
};

int run_command(const RunOptions& o) {
  std::vector<std::string> names = {"out"};
  if (o.lse) names.emplace_back("lse");
  check_are_no_inputs(output_paths(o.output, names), o.tensors);
  const rapt_device device = parse_device(o.device);
  const Attention attention = load_attention(o.tensors);
  const Team team(o.threads);
  const Execution execution{.backend = o.backend, .allow_math = o.allow_math, .executor = team.executor()};
  Forward results(attention);
  Placement place(device);
  const rapt::Attention view = attention.view(place);
  const Tensor out = place.out(results.out), lse = place.out(results.lse);
  const Explanation why = explain(view, out, execution);
  const double start = seconds_now();
  rapt::forward(view, out, lse, execution);
  synchronize(device);
  const double elapsed = seconds_now() - start;
  place.fetch();
  fmt::print("problem  {}\n", why.problem);
  if (on_gpu(device)) fmt::print("device   {}\n", device_text(device));
  if (const Candidate* c = why.chosen()) fmt::print("backend  {} ({}): {}\n", c->backend, c->kernel, c->reason);
  if (on_gpu(device) && describe(device).simulator) fmt::print("time     not measured: the device is simulated\n");
  else fmt::print("time     {:.3f} ms\n", elapsed * 1e3);

  if (o.tensors.layout == "bhsd") results.out.swap_dimensions(1, 2);
  std::vector<std::pair<std::string, const Array*>> tensors = {{"out", &results.out}};
  if (o.lse) tensors.emplace_back("lse", &results.lse);
  const std::vector<std::string> paths = save_tensors(o.output, tensors);
  for (size_t i = 0; i < tensors.size(); ++i)
    fmt::print("wrote    {} {} {} to {}\n", tensors[i].first, dtype_name(tensors[i].second->dtype()),
               shape_text(tensors[i].second->shape()), paths[std::min(i, paths.size() - 1)]);
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* sub = app.add_subcommand("run", "Compute attention over tensors from files");
  add_tensor_options(*sub, o->tensors);
  sub->add_option("--output", o->output, "Where the result goes: .safetensors, or .npy (lse then goes next to it)")
      ->required()
      ->type_name("FILE");
  sub->add_flag("--lse", o->lse, "Write the log-sum-exp of each row too");
  sub->add_option("--backend", o->backend, "auto, or a name that `rapt explain` lists")->capture_default_str();
  add_device_option(*sub, o->device);
  sub->add_flag("--allow-math", o->allow_math, "Let auto fall back to the slow definition at any size");
  sub->add_option("--threads", o->threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  sub->footer(
      "Tensors are fp16, bf16 (.safetensors), fp32 or fp64. Outputs are written to a temporary file and renamed, so a\n"
      "failure leaves the old file, or none.\n"
      "Examples:\n"
      "  rapt run --q q.npy --k k.npy --v v.npy --causal --output out.npy --lse\n"
      "  rapt run --input layer0.safetensors --window 127,0 --layout bhsd --output out.safetensors\n"
      "  rapt run --input packed.safetensors --cu-seqlens-q cu.npy --cu-seqlens-k cu.npy --output out.safetensors\n"
      "  rapt run --input layer0.safetensors --bias masks.safetensors:left --output out.safetensors");
  sub->callback([o, &action] { action = [o] { return run_command(*o); }; });
}

}  // namespace rapt::cli
