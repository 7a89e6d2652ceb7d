// One page without scripts, links or a network: a bar chart for each table and pass, the numbers, what was left out.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/bench/output.hpp"
#include "cli/core/machine.hpp"

namespace rapt::cli {

namespace {

constexpr const char* kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:62em;padding:0 1em;color:#1b1f24}"
    "h1{font-size:1.5em}h2{font-size:1.15em;margin-top:2em}table{border-collapse:collapse;font-size:13px}"
    "th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #dde1e6}"
    "th:first-child,td:first-child,td.t{text-align:left}svg{width:100%;height:auto;font:12px system-ui,sans-serif}"
    "p.note{color:#57606a}";
constexpr const char* kColours[] = {"#2563a8", "#c2703d", "#3c8d5a", "#8b5fb0", "#a33c4c", "#5f6b76"};

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

const char* pass_name(rapt_op op) { return op == RAPT_FORWARD ? "forward" : "backward"; }

struct Chart {
  std::string title;
  std::vector<const BenchRow*> rows;  // measured ones
};

std::vector<Chart> charts_of(const std::vector<BenchRow>& rows) {
  std::vector<Chart> charts;
  for (const BenchRow& r : rows) {
    if (!r.left_out.empty()) continue;
    const std::string title =
        fmt::format("{}: {}", r.which.table.empty() ? "problems" : r.which.table, pass_name(r.op));
    auto it = std::find_if(charts.begin(), charts.end(), [&](const Chart& c) { return c.title == title; });
    if (it == charts.end()) it = charts.insert(charts.end(), Chart{title, {}});
    it->rows.push_back(&r);
  }
  return charts;
}

std::string bar_label(const BenchRow& r) {
  std::string label =
      fmt::format("{:.3f} TFLOP/s, {:.0f} %, {:.3f} ms", r.tflops(), 100 * r.peak_fraction(), r.measured.ms);
  if (r.work.bytes > 0) label += fmt::format(", {:.1f} GB/s", r.gigabytes());
  return label;
}

// Bars of TFLOP/s grouped by case; the mark on each bar's track is the peak probed beside it.
std::string chart_svg(const Chart& chart, const std::vector<std::string>& backends) {
  constexpr double kLabels = 190, kPlot = 430, kBar = 15, kGap = 9;
  double most = 0;
  for (const BenchRow* r : chart.rows) most = std::max({most, r->tflops(), r->measured.peak_flops * 1e-12});
  const double scale = kPlot / most;
  std::string body, label;
  double y = 6;
  for (const BenchRow* r : chart.rows) {
    const std::string name = r->which.table.empty() ? r->which.problem : r->which.label();
    if (name != label) {
      label = name;
      y += kGap;
      const std::string shown = name.size() > 30 ? name.substr(0, 28) + ".." : name;
      body += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}<title>{}</title></text>", kLabels - 8, y + 12,
                          escape(shown), escape(r->which.problem));
    }
    const auto backend = std::find(backends.begin(), backends.end(), r->backend) - backends.begin();
    const double peak = kLabels + r->measured.peak_flops * 1e-12 * scale;
    body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"#eef1f4\"/>", kLabels, y,
                        peak - kLabels, kBar - 2);
    body +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>",
                    kLabels, y, std::max(1.0, r->tflops() * scale), kBar - 2,
                    kColours[static_cast<size_t>(backend) % std::size(kColours)], escape(r->backend + " " + r->kernel));
    body += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"#1b1f24\"/>", peak, y,
                        y + kBar - 2);
    body += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", kLabels + kPlot + 8, y + 11, bar_label(*r));
    y += kBar;
  }
  return fmt::format("<svg viewBox=\"0 0 940 {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>\n", y + 8,
                     escape(chart.title), body);
}

std::string legend(const std::vector<std::string>& backends) {
  std::string out = "<p>";
  for (size_t i = 0; i < backends.size(); ++i)
    out += fmt::format("<span style=\"color:{}\">&#9632;</span> {} &#160; ", kColours[i % std::size(kColours)],
                       escape(backends[i]));
  return out + "<span>|</span> peak probed in the same run</p>\n";
}

std::string numbers(const std::vector<BenchRow>& rows) {
  std::string out =
      "<h2>Numbers</h2>\n<table><tr><th>problem</th><th>pass</th><th>backend</th><th>kernel</th><th>ms</th>"
      "<th>ms (20th pct.)</th><th>TFLOP/s</th><th>% of limit</th><th>extra memory</th></tr>\n";
  for (const BenchRow& r : rows) {
    if (!r.left_out.empty()) continue;
    out += fmt::format(
        "<tr><td>{}</td><td class=\"t\">{}</td><td class=\"t\">{}</td><td class=\"t\">{}</td><td>{:.4f}</td>"
        "<td>{:.4f}</td><td>{:.4f}</td><td>{:.1f}</td><td>{}</td></tr>\n",
        escape(r.which.problem), pass_name(r.op), escape(r.backend), escape(r.kernel), r.measured.ms, r.measured.ms_p20,
        r.tflops(), 100 * r.peak_fraction(), bytes_text(r.extra_bytes));
  }
  return out + "</table>\n";
}

std::string left_out(const std::vector<BenchRow>& rows) {
  std::string items;
  for (const BenchRow& r : rows)
    if (!r.left_out.empty())
      items += fmt::format("<li>{} ({}), {}, {}: {}</li>\n", escape(r.which.label()), escape(r.which.problem),
                           escape(r.backend), pass_name(r.op), escape(r.left_out));
  return items.empty() ? "" : "<h2>Left out</h2>\n<ul>\n" + items + "</ul>\n";
}

}  // namespace

std::string bench_html(const std::vector<BenchRow>& rows) {
  std::vector<std::string> backends;
  for (const BenchRow& r : rows)
    if (std::find(backends.begin(), backends.end(), r.backend) == backends.end()) backends.push_back(r.backend);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>rapt "
      "bench</title><style>{}</style></head>"
      "<body>\n<h1>rapt bench</h1>\n<p>{} ({}), {} thread(s), best tier {}; rapt {}</p>\n",
      kStyle, escape(machine().cpu), escape(machine().architecture), rows.empty() ? 0 : rows.front().threads,
      best_cpu_tier(), rapt_version_string());
  page +=
      "<p class=\"note\">TFLOP/s: 2 B H Sq Sk (D + Dv), half if causal, backward times 2.5, over the median. Per cent: "
      "the "
      "80th percentile of the rate over that of the limit (arithmetic, or memory where the KV exceeds the caches), "
      "probed between the samples on the same threads.</p>\n";
  page += legend(backends);
  for (const Chart& chart : charts_of(rows))
    page += fmt::format("<h2>{}</h2>\n{}", escape(chart.title), chart_svg(chart, backends));
  return page + numbers(rows) + left_out(rows) + "</body></html>\n";
}

}  // namespace rapt::cli
