#include "cli/tune/compare.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/core/placement.hpp"
#include "cli/inputs/dtype.hpp"
#include "cli/probe/team.hpp"
#include "cli/tune/forms.hpp"
#include "cli/tune/race.hpp"
#include "cli/tune/timer.hpp"

namespace rapt::cli {

namespace {

BenchRow row_of(const WantedProblem& wanted, rapt_device device, const Way& way) {
  const rapt_problem p = wanted.problem.c();
  BenchRow row;
  row.which = {"", "problem", "", wanted.problem.text()};
  row.op = wanted.op;
  row.device = device_name(device);
  row.backend = way.backend;
  row.kernel = way.lead.name;
  row.dtype = dtype_name(p.dtype);
  row.causal = p.causal != RAPT_NOT_CAUSAL;
  row.simulated = describe(device).time_model;
  row.work.flops = flops(wanted.problem, wanted.op);
  return row;
}

Measurement summary(const std::vector<double>& seconds) {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  return {.samples = static_cast<int>(sorted.size()),
          .ms = median(sorted) * 1e3,
          .ms_p20 = sorted[(sorted.size() - 1) / 5] * 1e3};
}

// Kernels that differ only in their tile share a column of the table.
std::string column_of(const std::string& kernel, const std::string& dtype) {
  std::string name = kernel;
  if (const size_t at = name.find("." + dtype + "."); at != std::string::npos) name.replace(at, dtype.size() + 2, ".");
  return name;
}

}  // namespace

Comparison compare_kernels(const DeviceKernels& kernels, const WantedProblem& wanted, rapt_device device,
                           double seconds) {
  const Ways ways = kernels.ways(wanted.problem, wanted.op);
  Comparison c{wanted, {}};
  for (const Way& way : ways.all) c.rows.push_back(row_of(wanted, device, way));
  WayTimer timer(made_form(wanted.problem), wanted.op, device, 1);
  const bool forecast = describe(device).simulator != 0;
  const RaceRules rules{.seconds = forecast ? kNoBudget : seconds, .everyone_stays = true, .exact = forecast};
  const RaceResult result =
      race(ways.all.size(), rules, [&](size_t way) { return timer.sample(ways.all[way].backend); }, seconds_now);
  for (size_t i = 0; i < c.rows.size(); ++i) {
    const Entrant& e = result.entrants[i];
    if (!e.seconds.empty()) c.rows[i].measured = summary(e.seconds);
    else c.rows[i].left_out = e.left.empty() ? "there was no time for a round" : e.left;
  }
  return c;
}

void print_comparisons(const std::vector<Comparison>& comparisons) {
  std::vector<std::string> columns;
  for (const Comparison& c : comparisons)
    for (const BenchRow& r : c.rows)
      if (const std::string name = column_of(r.kernel, r.dtype); std::ranges::find(columns, name) == columns.end())
        columns.push_back(name);
  std::vector<std::string> header = {"pass", "problem"};
  header.insert(header.end(), columns.begin(), columns.end());
  TextTable table(header);
  for (const Comparison& c : comparisons) {
    std::vector<std::string> line = {c.wanted.op == RAPT_FORWARD ? "fwd" : "bwd", c.wanted.problem.text()};
    line.resize(header.size(), "-");
    for (const BenchRow& r : c.rows) {
      const auto at = std::ranges::find(columns, column_of(r.kernel, r.dtype)) - columns.begin();
      const bool chosen = &r == &c.rows.front();
      line[static_cast<size_t>(at) + 2] = !r.left_out.empty()
                                              ? "left out"
                                              : fmt::format("{}{:.4f} ({:.2f}x)", chosen ? "*" : "", r.measured.ms,
                                                            c.rows.front().measured.ms / r.measured.ms);
    }
    table.add(line);
  }
  table.print("");
  fmt::print("\nms, and how many times as fast as *, which the tuning table chooses\n");
}

}  // namespace rapt::cli
