#include "cli/commands/device_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <span>

#include "cli/bench/output.hpp"
#include "cli/core/inputs.hpp"
#include "cli/core/placement.hpp"
#include "cli/core/report.hpp"
#include "cli/verify/check.hpp"
#include "cli/verify/suites.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kMeasured[] = {
    "b1 hq32 hk8 sq4096 sk4096 d128 bf16 causal",
    "b4 hq16 hk16 sq2048 sk2048 d64 fp16",
    "b1 hq16 hk16 sq4096 sk4096 d256 bf16",
};
// Small ones, because a simulated GPU runs every workgroup on the host.
constexpr const char* kForecast[] = {
    "b1 hq8 hk2 sq512 sk512 d128 bf16 causal",
    "b1 hq4 hk4 sq512 sk512 d64 fp16",
    "b1 hq2 hk2 sq512 sk512 d256 bf16",
};

bool takes(const DropIn* drop_in, const rapt_problem& p) {
  return drop_in != nullptr && !p.has_bias && !p.has_mask && !p.has_alibi && !p.has_sink && !p.has_window &&
         p.softcap == 0 && p.dropout == 0 && p.varlen_count == 0 && p.page == 0;
}

class CheckTable {
 public:
  explicit CheckTable(ReportChecks& checks) : checks_(checks) {}

  // The results of one call, or why there are none.
  void add(const std::string& problem, const char* through, rapt_op op,
           const std::function<std::vector<CheckRow>()>& call) {
    const char* const pass = op == RAPT_FORWARD ? "fwd" : "bwd";
    try {
      const std::vector<CheckRow> rows = call();
      std::vector<std::string> ratios;
      ratios.reserve(rows.size());
      const int failed = static_cast<int>(std::ranges::count_if(rows, [](const CheckRow& r) { return !r.ok(); }));
      for (const CheckRow& r : rows) ratios.push_back(fmt::format("{} {:.2f}", r.tensor, r.ratio()));
      checks_.done += static_cast<int>(rows.size());
      checks_.failed += failed;
      table_.add({problem, through, pass, failed == 0 ? "ok" : "FAIL", fmt::format("{}", fmt::join(ratios, ", ")),
                  rows.front().kernel});
    } catch (const Error& e) {
      const bool unsupported = e.status() == RAPT_UNSUPPORTED;
      checks_.failed += unsupported ? 0 : 1;
      table_.add({problem, through, pass, unsupported ? "none" : "FAIL", e.what(), ""});
    }
  }
  void print() const { table_.print("  "); }

 private:
  ReportChecks& checks_;
  TextTable table_{{"problem", "through", "pass", "", "error / allowance", "kernel"}};
};

// Milliseconds of calls through the drop-in.
class DropInTimes {
 public:
  DropInTimes(const DropIn& drop_in, const Problem& problem, rapt_device device, const Team& team)
      : drop_in_(drop_in),
        device_(device),
        team_(team),
        inputs_(make_inputs(problem, InputKind::normal, 1)),
        results_(inputs_),
        gradients_(inputs_),
        dout_(results_.out.converted(results_.out.dtype())),
        place_(device),
        attention_(inputs_.view(place_)),
        out_(place_.unwritten(results_.out)),
        lse_(place_.unwritten(results_.lse)) {
    fill_normal(dout_, 1, kDoutStream);
    placed_dout_ = place_.in(dout_);
    placed_gradients_ = gradients_.view(place_);
  }

  double forward() {
    return time([this] { drop_in_.forward(attention_, out_, lse_); });
  }
  double backward() {  // after forward(), whose results it reads
    return time([this] { drop_in_.backward(attention_, out_, lse_, placed_dout_, placed_gradients_); });
  }

 private:
  double time(const std::function<void()>& call) const {
    if (describe(device_).simulator) {
      Event before(device_), after(device_);
      before.record();
      call();
      after.record();
      return after.since(before);
    }
    const SamplingRule rule = {.samples = 10, .least_seconds = 0.1, .most_seconds = 0.5};
    Contender contender = {.call = call, .finish = [this] { synchronize(device_); }, .on_gpu = true};
    warm_up(contender, rule);
    Sampler(team_, inputs_.q.dtype()).measure({&contender}, {}, rule);
    return contender.result.ms;
  }

  const DropIn& drop_in_;
  const rapt_device device_;
  const Team& team_;
  const Attention inputs_;
  Forward results_;
  Gradients gradients_;
  Array dout_;
  Placement place_;
  rapt::Attention attention_;
  Tensor out_, lse_, placed_dout_;
  rapt::Gradients placed_gradients_;
};

void print_drop_in_times(std::span<const char* const> problems, rapt_device device, const DropIn& drop_in,
                         const Team& team) {
  TextTable table({"fwd ms", "bwd ms", "problem", ""});
  for (const char* problem : problems) {
    std::string forward = "-", backward = "-", why;
    try {
      DropInTimes times(drop_in, Problem::parse(problem), device, team);
      forward = fmt::format("{:.4f}", times.forward());
      backward = fmt::format("{:.4f}", times.backward());
    } catch (const Error& e) {
      why = e.what();
    }
    table.add({forward, backward, problem, why});
  }
  fmt::print("\ntimes through the AOTriton drop-in{}\n", describe(device).simulator ? ", forecast, not measured" : "");
  table.print("  ");
}

}  // namespace

void report_checks(rapt_device device, const DropIn* drop_in, const Team& team, ReportChecks& checks) {
  CheckTable table(checks);
  for (const VerifyCase& c : suite("doctor")) {
    const Attention a = make_inputs(Problem::parse(c.problem), c.kind, 1);
    const Problem problem = Problem::parse(with_gradients(c.problem, a));
    const Checker checker(problem, a, true, team.executor(), device);
    const std::string backend = gpu_backend(device);
    table.add(c.problem, "Rapt", RAPT_FORWARD, [&] { return checker.check_forward(backend); });
    table.add(c.problem, "Rapt", RAPT_BACKWARD, [&] { return checker.check_backward(backend); });
    if (!takes(drop_in, problem.c())) continue;
    table.add(c.problem, "drop-in", RAPT_FORWARD, [&] {
      return checker.forward_rows(
          [&](const rapt::Attention& at, const Tensor& out, const Tensor& lse) { drop_in->forward(at, out, lse); });
    });
    table.add(c.problem, "drop-in", RAPT_BACKWARD, [&] {
      return checker.backward_rows(
          [&](const rapt::Attention& at, const Tensor& out, const Tensor& lse, const Tensor& dout,
              const rapt::Gradients& gradients) { drop_in->backward(at, out, lse, dout, gradients); });
    });
  }
  fmt::print("\nchecks on {}\n", device_name(device));
  table.print();
}

void report_times(rapt_device device, const DropIn* drop_in, const Team& team, double seconds) {
  std::span<const char* const> problems = kMeasured;
  if (describe(device).simulator) problems = kForecast;
  BenchPlan plan;
  plan.device = device;
  plan.ops = {RAPT_FORWARD, RAPT_BACKWARD};
  plan.budget = seconds;
  plan.rule.most_seconds = 0.5;
  for (const char* problem : problems) plan.cases.push_back({"", "report", "", problem});
  Progress progress(false);
  BenchRunner runner(plan, team, progress);
  BenchTable table(plan, team);
  fmt::print("\ntimes\n");
  table.begin();
  std::vector<BenchRow> rows;
  for (const BenchCase& c : plan.cases) {
    const std::vector<BenchRow> of_case = runner.run(c);
    table.print(of_case);
    rows.insert(rows.end(), of_case.begin(), of_case.end());
  }
  print_left_out(rows);
  if (drop_in != nullptr) print_drop_in_times(problems, device, *drop_in, team);
}

}  // namespace rapt::cli
