#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "cli/bench/output.hpp"
#include "cli/core/environment.hpp"
#include "cli/core/machine.hpp"

namespace rapt::cli {

namespace {

// Fixed widths: every row is printed as soon as it is measured, and rows must line up.
constexpr const char* kLine =
    "{:<{}}  {:<6}  {:<11}  {:<40}  {:>10}  {:>10}  {:>8}  {:>8}  {:>6}  {:>6}  {:>6}  {:<24}  {}\n";

std::string milliseconds(const BenchRow* r) {
  if (!r || !r->left_out.empty()) return "-";
  return fmt::format("{:.{}f}", r->measured.ms, r->measured.ms < 1 ? 4 : r->measured.ms < 100 ? 3 : 1);
}
std::string tflops(const BenchRow* r) { return !r || !r->left_out.empty() ? "-" : fmt::format("{:.4f}", r->tflops()); }
std::string percent(const BenchRow* r) {
  return !r || !r->left_out.empty() || r->measured.limit_ms == 0 ? "-"
                                                                 : fmt::format("{:.1f}", 100 * r->peak_fraction());
}
std::string gigabytes(const BenchRow* r) {
  return !r || !r->left_out.empty() || r->work.bytes == 0 ? "-" : fmt::format("{:.1f}", r->gigabytes());
}

// Each backend against math.
void print_comparison(const std::vector<BenchRow>& rows) {
  std::map<std::pair<std::string, int>, double> math;
  for (const BenchRow& r : rows)
    if (r.backend == "math" && r.left_out.empty()) math[{r.which.problem, r.op}] = r.measured.ms;
  TextTable table({"case", "op", "math ms", "backend", "ms", "speed-up", "problem"});
  bool any = false;
  for (const BenchRow& r : rows) {
    const auto it = math.find({r.which.problem, r.op});
    if (it == math.end() || r.backend == "math" || !r.left_out.empty()) continue;
    any = true;
    table.add({r.which.label(), r.op == RAPT_FORWARD ? "fwd" : "bwd", fmt::format("{:.3f}", it->second), r.backend,
               fmt::format("{:.3f}", r.measured.ms), fmt::format("{:.2f}x", it->second / r.measured.ms),
               r.which.problem});
  }
  if (!any) return;
  fmt::print("\nagainst the plain definition (math)\n");
  table.print("  ");
}

}  // namespace

BenchTable::BenchTable(const BenchPlan& plan, const Team& team) : plan_(plan), team_(team) {
  for (const BenchCase& c : plan.cases) label_width_ = std::max(label_width_, c.label().size());
}

void BenchTable::begin() {
  const int threads = team_.size();
  fmt::print("device {}", device_text(plan_.device));
  if (!on_gpu(plan_.device))
    fmt::print(", {} thread{}, best tier {}", threads, threads == 1 ? "" : "s", best_cpu_tier());
  fmt::print("{}\n", plan_.budget < kNoBudget ? fmt::format("; budget {:.0f} s", plan_.budget) : "");
  print_environment("");
  if (!on_gpu(plan_.device)) {
    std::vector<std::string> peaks;
    for (const Peak& p : probed_peaks(team_)) peaks.push_back(fmt::format("{} {:.0f}", p.what, p.flops * 1e-9));
    fmt::print("probed peak, GFLOP/s: {}\n", fmt::join(peaks, ", "));
  }
  if (on_gpu(plan_.device) && describe(plan_.device).simulator)
    fmt::print("ms: of one call, forecast by the model, not measured (docs/simulator.md)\n\n");
  else fmt::print("ms: median. %: the rate's 80th percentile over that of the peak, probed between the samples\n\n");
  fmt::print(kLine, "case", label_width_, "device", "backend", "kernel", "fwd ms", "bwd ms", "fwd TF/s", "bwd TF/s",
             "fwd %", "bwd %", "GB/s", "times", "problem");
}

void BenchTable::print(const std::vector<BenchRow>& rows) {
  std::vector<std::string> backends;
  for (const BenchRow& r : rows)
    if (std::find(backends.begin(), backends.end(), r.backend) == backends.end()) backends.push_back(r.backend);
  for (const std::string& backend : backends) {
    const BenchRow *forward = nullptr, *backward = nullptr;
    for (const BenchRow& r : rows)
      if (r.backend == backend) (r.op == RAPT_FORWARD ? forward : backward) = &r;
    const BenchRow& any = forward ? *forward : *backward;
    fmt::print(kLine, any.which.label(), label_width_, any.device, backend, any.kernel, milliseconds(forward),
               milliseconds(backward), tflops(forward), tflops(backward), percent(forward), percent(backward),
               gigabytes(forward), any.left_out.empty() ? any.origin() : "-", any.which.problem);
  }
  std::fflush(stdout);
}

bool BenchTable::end(const std::vector<BenchRow>& rows) {
  print_comparison(rows);
  print_left_out(rows);
  return true;
}

void print_left_out(const std::vector<BenchRow>& rows) {
  TextTable table({"case", "backend", "op", "why", "problem"});
  size_t count = 0;
  for (const BenchRow& r : rows) {
    if (r.left_out.empty()) continue;
    ++count;
    table.add({r.which.label(), r.backend, r.op == RAPT_FORWARD ? "fwd" : "bwd", r.left_out, r.which.problem});
  }
  if (count == 0) return;
  fmt::print("\nleft out ({} of {} rows)\n", count, rows.size());
  table.print("  ");
}

}  // namespace rapt::cli
