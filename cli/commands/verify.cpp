#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands/commands.hpp"
#include "cli/commands/device_option.hpp"
#include "cli/commands/output_file.hpp"
#include "cli/commands/tensor_options.hpp"
#include "cli/core/inputs.hpp"
#include "cli/core/report.hpp"
#include "cli/inputs/error.hpp"
#include "cli/probe/team.hpp"
#include "cli/verify/check.hpp"
#include "cli/verify/suites.hpp"
#include "common/atomic_file.hpp"

namespace rapt::cli {

namespace {

struct VerifyOptions {
  TensorOptions tensors;
  std::vector<std::string> problems, suites, backends;
  std::string kind = "normal", op = "both", json, device = "cpu";
  int threads = 0, seeds = 1;
  bool padded = false, progress = false;
};

// One comparison over all seeds of a problem.
struct SeedRow {
  CheckRow worst;
  uint64_t seed = 0;  // of the worst
  int count = 0, failures = 0;

  void add(const CheckRow& row, uint64_t row_seed) {
    if (count++ == 0 || row.ratio() > worst.ratio()) worst = row, seed = row_seed;
    failures += row.ok() ? 0 : 1;
  }
  std::string verdict() const {
    if (count == 1) return failures == 0 ? "ok" : "FAIL";
    if (failures == 0) return fmt::format("ok for {} seeds, the worst is {}", count, seed);
    return fmt::format("FAIL for {} of {} seeds, the worst is {}", failures, count, seed);
  }
};

// Counts, prints and records every comparison of a run.
class Tally {
 public:
  void add(const std::string& problem, const std::string& kind, uint64_t seed, const std::vector<CheckRow>& rows) {
    seed_rows_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const CheckRow& r = rows[i];
      seed_rows_[i].add(r, seed);
      ++checks_;
      failures_ += r.ok() ? 0 : 1;
      worst_ = std::max(worst_, r.ratio());
      nlohmann::ordered_json j = {
          {"problem", problem}, {"op", op_name(r)}, {"tensor", r.tensor},       {"backend", r.backend},
          {"kernel", r.kernel}, {"error", r.error}, {"allowance", r.allowance}, {"ok", r.ok()},
          {"input", kind},      {"seed", seed}};
      json_ += j.dump() + "\n";
    }
  }
  // The rows of one problem, each at its worst seed.
  void print_problem() {
    for (const SeedRow& s : seed_rows_) {
      const CheckRow& r = s.worst;
      fmt::print("  {:<16} {:<34} {:<3}  {:<5}  {:>10.2e}  {:>10.2e}  {:>8.3g}  {}\n", r.backend, r.kernel, op_name(r),
                 r.tensor, r.error, r.allowance, r.ratio(), s.verdict());
    }
    seed_rows_.clear();
    std::fflush(stdout);
  }
  void print_header() const {
    fmt::print("  {:<16} {:<34} {:<3}  {:<5}  {:>10}  {:>10}  {:>8}\n", "backend", "kernel", "op", "tensor", "error",
               "allowance", "ratio");
  }
  int finish(const std::string& path) const {
    if (!path.empty()) common::write_file(path, json_);
    if (checks_ == 0) throw InputError("nothing was checked: no backend takes the problems");
    fmt::print("\n{} checks, {} failed; the largest error is {:.3g} of its allowance\n", checks_, failures_, worst_);
    return failures_ == 0 ? 0 : 1;
  }

 private:
  static const char* op_name(const CheckRow& r) { return r.op == RAPT_FORWARD ? "fwd" : "bwd"; }
  int checks_ = 0, failures_ = 0;
  double worst_ = 0;
  std::vector<SeedRow> seed_rows_;
  std::string json_;
};

// Every backend except the oracle, each kernel once although it may have two names. On a GPU only the chosen kernel:
// other kernels must be requested by name.
std::vector<std::string> default_backends(const Attention& a, rapt_device device) {
  if (on_gpu(device)) return {gpu_backend(device)};
  const Forward results(a);
  std::vector<std::string> names;
  std::set<std::string> kernels;
  for (const Candidate& c : explain(a.view(), results.out.tensor()).candidates) {
    if (c.kernel.empty() || c.backend == "math") continue;
    try {
      const Explanation e = explain(a.view(), results.out.tensor(), {.backend = c.backend});
      if (e.chosen() && kernels.insert(e.chosen()->kernel).second) names.push_back(c.backend);
    } catch (const Error& e) {
      if (e.status() != RAPT_UNSUPPORTED) throw;
    }
  }
  return names;
}

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options), device_(parse_device(options.device)), team_(options.threads), progress_(options.progress) {}

  int run() {
    if (on_gpu(device_)) fmt::print("{}\n", device_text(device_));
    tally_.print_header();
    for (const std::string& problem : options_.problems) check({problem, parse_input_kind(options_.kind)});
    for (const std::string& name : options_.suites)
      for (const VerifyCase& c : suite(name)) check(c);
    if (options_.tensors.given()) {
      const Attention a = load_attention(options_.tensors);
      const std::string problem = explain(a.view(), Forward(a).out.tensor()).problem;
      check(problem, "from files", 1, false, [&](uint64_t) -> const Attention& { return a; });
    }
    return tally_.finish(options_.json);
  }

 private:
  void check(const VerifyCase& c) {
    const Problem p = Problem::parse(c.problem);
    const Layout layout = layout_of(options_.tensors.layout == "bhsd", options_.padded);
    check(p.text(), input_kind_name(c.kind), options_.seeds, c.forward_only,
          [&](uint64_t seed) { return make_inputs(p, c.kind, seed, layout); });
  }

  // inputs(seed) makes the tensors of one seed.
  template <class Inputs>
  void check(const std::string& problem, const std::string& kind, int seeds, bool forward_only, const Inputs& inputs) {
    const uint64_t first = options_.tensors.seed;
    for (uint64_t seed = first; seed < first + static_cast<uint64_t>(seeds); ++seed) {
      progress_.show(fmt::format("{} ({}), seed {}", problem, kind, seed));
      const std::vector<CheckRow> rows = rows_of(problem, inputs(seed), forward_only);
      if (on_gpu(device_) && rows.empty()) return progress_.clear();
      tally_.add(problem, kind, seed, rows);
    }
    progress_.clear();
    fmt::print("{} ({})\n", problem, kind);
    tally_.print_problem();
  }

  std::vector<CheckRow> rows_of(const std::string& problem, const Attention& a, bool forward_only) {
    const std::vector<std::string> backends =
        options_.backends.empty() ? default_backends(a, device_) : options_.backends;
    // Problems for which a GPU has no kernels are left out unless its backend is requested.
    const bool may_be_left_out = on_gpu(device_) && options_.backends.empty();
    bool backward = options_.op != "fwd" && !forward_only && !a.block_table;
    std::vector<CheckRow> rows;
    std::optional<Checker> checker;  // made once: it computes the reference
    for (const std::string& backend : backends) {
      if (may_be_left_out && options_.op != "bwd" && !taken(problem, backend, RAPT_FORWARD)) continue;
      if (may_be_left_out && backward) backward = taken(with_gradients(problem, a), backend, RAPT_BACKWARD);
      if (!backward && options_.op == "bwd") continue;
      if (!checker) checker.emplace(Problem::parse(with_gradients(problem, a)), a, backward, team_.executor(), device_);
      const auto add = [&](std::vector<CheckRow> more) {
        rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
      };
      if (options_.op != "bwd") add(checker->check_forward(backend));
      if (backward) add(checker->check_backward(backend));
    }
    return rows;
  }

  // True if the backend takes the problem; if not, the problem is listed as left out.
  bool taken(const std::string& problem, const std::string& backend, rapt_op op) {
    const Explanation e = explain(Problem::parse(problem), op, {.backend = backend}, device_);
    if (e.chosen()) return true;
    progress_.clear();
    for (const Candidate& c : e.candidates)
      if (c.backend == backend)
        fmt::print("left out: {}{}: {}\n", op == RAPT_BACKWARD ? "backward of " : "", problem, c.reason);
    return false;
  }

  const VerifyOptions& options_;
  const rapt_device device_;
  const Team team_;
  Progress progress_;
  Tally tally_;
};

int verify_command(VerifyOptions options) {
  if (options.problems.empty() && options.suites.empty() && !options.tensors.given()) options.suites = {"quick"};
  return Verifier(options).run();
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  auto o = std::make_shared<VerifyOptions>();
  CLI::App* sub = app.add_subcommand("verify", "Compare backends with the float64 reference");
  sub->add_option("problem", o->problems, "Problems as text; without any, the suite quick");
  sub->add_option("--suite", o->suites, fmt::format("Named lists: {}", fmt::join(suite_names(), ", ")))
      ->take_all()
      ->allow_extra_args(false);
  sub->add_option("--backend", o->backends,
                  "Only this backend (repeatable); otherwise every one but math that takes the problem")
      ->take_all()
      ->allow_extra_args(false);
  add_device_option(*sub, o->device);
  sub->add_option("--op", o->op, "fwd, bwd or both")
      ->check(CLI::IsMember({"fwd", "bwd", "both"}))
      ->capture_default_str();
  sub->add_option("--input-kind", o->kind, fmt::format("Values of the problems given: {}", input_kind_names()))
      ->capture_default_str();
  sub->add_option("--seeds", o->seeds, "Check each problem with this many seeds, from --seed on, and show the worst")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  sub->add_flag("--padded", o->padded,
                "Put gaps of NaN between all rows of the problems' tensors, and do not align rows");
  sub->add_option("--threads", o->threads, "Threads; 0: one per core")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  add_output_file(*sub, "--json", o->json, "Write one JSON object per line to this file");
  sub->add_flag("--progress", o->progress, "Report progress on stderr even if it is not a terminal");
  add_tensor_options(*sub, o->tensors);
  sub->footer(
      "Each result (out, lse, dq, ...) may differ from fp64 by twice the error of the plain formula in the\n"
      "tensors' own type, plus the error that any float32 sum of the logits may have. If one differs by more,\n"
      "the exit code is 1.\n"
      "Examples:\n"
      "  rapt verify\n"
      "  rapt verify \"b1 hq8 hk8 sq512 sk512 d64 fp32 causal\" --input-kind outliers\n"
      "  rapt verify \"b1 hq1 hk1 sq70 sk90 d512 fp32\" --seeds 200 --padded\n"
      "  rapt verify --suite hostile --backend cpu --json rows.json\n"
      "  rapt verify --input layer0.safetensors --causal");
  sub->callback([o, &action] { action = [o] { return verify_command(*o); }; });
}

}  // namespace rapt::cli
