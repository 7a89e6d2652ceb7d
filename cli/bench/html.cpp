// One self-contained page: a bar chart per table and pass, the numbers, and what was left out.
#include <fmt/format.h>

#include <algorithm>

#include "cli/bench/output.hpp"
#include "cli/core/environment.hpp"
#include "cli/core/machine.hpp"
#include "common/html.hpp"

namespace rapt::cli {

namespace {

namespace html = common::html;

const char* pass_name(rapt_op op) { return op == RAPT_FORWARD ? "forward" : "backward"; }

struct Chart {
  std::string title;
  std::vector<const BenchRow*> rows;  // measured ones
};

std::vector<Chart> charts_of(const std::vector<BenchRow>& rows) {
  std::vector<Chart> charts;
  for (const BenchRow& r : rows) {
    if (!r.left_out.empty()) continue;
    const std::string title = fmt::format("{}: {}, {}", r.which.table.empty() ? "problems" : r.which.table,
                                          pass_name(r.op), r.work.bytes > 0 ? "GB/s" : "TFLOP/s");
    auto it = std::find_if(charts.begin(), charts.end(), [&](const Chart& c) { return c.title == title; });
    if (it == charts.end()) it = charts.insert(charts.end(), Chart{title, {}});
    it->rows.push_back(&r);
  }
  return charts;
}

std::string bar_label(const BenchRow& r) {
  const std::string rate =
      r.work.bytes > 0 ? fmt::format("{:.1f} GB/s", r.gigabytes()) : fmt::format("{:.3f} TFLOP/s", r.tflops());
  const std::string of_limit = r.measured.limit_ms > 0 ? fmt::format(", {:.0f} %", 100 * r.peak_fraction()) : "";
  const std::string origin = r.simulated.empty() ? "" : ", " + r.origin();
  return fmt::format("{}{}, {:.3f} ms{}", rate, of_limit, r.measured.ms, origin);
}

// A bar's value, and the mark on its track: the limit probed in the same run, in the same unit.
double bar_value(const BenchRow& r) { return r.work.bytes > 0 ? r.gigabytes() : r.tflops(); }
double bar_limit(const BenchRow& r) {
  if (r.measured.limit_ms == 0) return 0;  // an empty problem
  return r.work.bytes > 0 ? r.work.bytes / r.measured.limit_ms * 1e-6 : r.work.flops / r.measured.limit_ms * 1e-9;
}

std::string bar(const BenchRow& r, double y, double scale, const char* colour) {
  constexpr double kLeft = 8, kHeight = 13, kText = 590;
  const double limit = kLeft + bar_limit(r) * scale;
  return fmt::format(
      "<rect x=\"{0}\" y=\"{1}\" width=\"{2:.1f}\" height=\"{3}\" fill=\"#eef1f4\"/>"
      "<rect x=\"{0}\" y=\"{1}\" width=\"{4:.1f}\" height=\"{3}\" fill=\"{5}\"><title>{6}</title></rect>"
      "<line x1=\"{7:.1f}\" x2=\"{7:.1f}\" y1=\"{1}\" y2=\"{8}\" stroke=\"#1b1f24\"/>"
      "<text x=\"{9}\" y=\"{10}\">{11}</text>",
      kLeft, y, limit - kLeft, kHeight, std::max(1.0, bar_value(r) * scale), colour,
      html::escape(r.backend + " " + r.kernel), limit, y + kHeight, kText, y + 11, bar_label(r));
}

// Bars grouped by case, under its name.
std::string chart_svg(const Chart& chart, const std::vector<std::string>& backends) {
  constexpr double kPlot = 570, kLine = 15, kGap = 9, kName = 17;
  double most = 0;
  for (const BenchRow* r : chart.rows) most = std::max({most, bar_value(*r), bar_limit(*r)});
  std::string body, group;
  double y = 0;
  for (const BenchRow* r : chart.rows) {
    const std::string name =
        r->which.table.empty() ? r->which.problem : fmt::format("{}: {}", r->which.label(), r->which.problem);
    if (name != group) {
      group = name;
      y += kGap + kName;
      body += fmt::format("<text x=\"8\" y=\"{}\">{}</text>", y - 5, html::escape(name));
    }
    const auto backend = std::find(backends.begin(), backends.end(), r->backend) - backends.begin();
    body += bar(*r, y, most > 0 ? kPlot / most : 0, html::colour(static_cast<size_t>(backend)));
    y += kLine;
  }
  return html::svg(860, y + 8, chart.title, body);
}

std::string numbers(const std::vector<BenchRow>& rows) {
  std::string out =
      "<h2>Numbers</h2>\n<div class=\"wide\"><table><tr><th class=\"t\">problem</th><th class=\"t\">pass</th>"
      "<th class=\"t\">backend</th><th class=\"t\">kernel</th><th>ms</th><th>ms (20th pct.)</th><th>TFLOP/s</th>"
      "<th>% of limit</th><th>extra memory</th><th class=\"t\">times</th></tr>\n";
  for (const BenchRow& r : rows) {
    if (!r.left_out.empty()) continue;
    out += fmt::format(
        "<tr><td class=\"t\">{}</td><td class=\"t\">{}</td><td class=\"t\">{}</td><td "
        "class=\"t\">{}</td><td>{:.4f}</td>"
        "<td>{:.4f}</td><td>{:.4f}</td><td>{}</td><td>{}</td><td class=\"t\">{}</td></tr>\n",
        html::escape(r.which.problem), pass_name(r.op), html::escape(r.backend), html::escape(r.kernel), r.measured.ms,
        r.measured.ms_p20, r.tflops(), r.measured.limit_ms > 0 ? fmt::format("{:.1f}", 100 * r.peak_fraction()) : "-",
        bytes_text(r.extra_bytes), html::escape(r.origin()));
  }
  return out + "</table></div>\n";
}

std::string left_out(const std::vector<BenchRow>& rows) {
  std::string items;
  for (const BenchRow& r : rows)
    if (!r.left_out.empty())
      items +=
          fmt::format("<li>{} ({}), {}, {}: {}</li>\n", html::escape(r.which.label()), html::escape(r.which.problem),
                      html::escape(r.backend), pass_name(r.op), html::escape(r.left_out));
  return items.empty() ? "" : "<h2>Left out</h2>\n<ul>\n" + items + "</ul>\n";
}

}  // namespace

std::string bench_html(const std::vector<BenchRow>& rows) {
  std::vector<std::string> backends;
  for (const BenchRow& r : rows)
    if (std::find(backends.begin(), backends.end(), r.backend) == backends.end()) backends.push_back(r.backend);
  const int threads = rows.empty() ? 0 : rows.front().threads;
  std::string body = fmt::format("<p>{} ({}), {} thread{}, best tier {}; rapt {}</p>\n", html::escape(machine().cpu),
                                 html::escape(machine().architecture), threads, threads == 1 ? "" : "s",
                                 best_cpu_tier(), rapt_version_string());
  body +=
      "<p class=\"note\">TFLOP/s: 2 B H Sq Sk (D + Dv), half if causal, backward times 2.5, over the median. Per cent: "
      "the rate's 80th percentile over the limit's (arithmetic, or memory where the KV exceeds the caches), "
      "probed between the samples on the same threads.</p>\n";
  for (const std::string& warning : environment_warnings())
    body += fmt::format("<p class=\"note\">Warning: {}.</p>\n", html::escape(warning));
  const auto simulated = std::find_if(rows.begin(), rows.end(), [](const BenchRow& r) { return !r.simulated.empty(); });
  if (simulated != rows.end())
    body += fmt::format("<p class=\"note\">Times marked as simulated are forecasts for {}, not measurements.</p>\n",
                        html::escape(device_text(parse_device(simulated->device))));
  body += html::legend(backends) + "<p><span>|</span> limit probed in the same run</p>\n";
  for (const Chart& chart : charts_of(rows))
    body += fmt::format("<h2>{}</h2>\n{}", html::escape(chart.title), chart_svg(chart, backends));
  return html::page("rapt bench", body + numbers(rows) + left_out(rows));
}

}  // namespace rapt::cli
