// One page without scripts, links or a network: charts of the bounds and of where the clocks go, and the numbers.
#include "sim/tool/report.hpp"

#include "common/html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace rapt::sim::tool {
namespace {

namespace html = common::html;

const std::string pipes[] = {"matrix", "vector", "transcendental", "scalar", "LDS"};
constexpr std::size_t shown_places = 40;

// A bar's parts, in the order of the colours, and the text after it.
struct Bar {
  std::string name;
  std::vector<double> parts;
  std::string text;
};

std::string chart(const std::string& title, const std::vector<Bar>& bars) {
  constexpr double left = 300, plot = 380, line = 18, height = 13;
  double most = 0;
  for (const Bar& bar : bars) {
    double sum = 0;
    for (const double part : bar.parts) sum += part;
    most = std::max(most, sum);
  }
  std::string body;
  double y = 4;
  for (const Bar& bar : bars) {
    body +=
        fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", left - 8, y + 11, html::escape(bar.name));
    double x = left;
    for (std::size_t n = 0; n < bar.parts.size(); ++n) {
      const double width = most > 0 ? bar.parts[n] / most * plot : 0;
      body += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>", x, y, width,
                          height, html::colour(n));
      x += width;
    }
    body += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>", x + 6, y + 11, html::escape(bar.text));
    y += line;
  }
  return fmt::format("<h3>{}</h3>\n{}", html::escape(title), html::svg(900, y + 4, title, body));
}

std::string bounds_chart(const Json& k) {
  std::vector<Bar> bars;
  for (const Json& b : k["bounds"])
    bars.push_back({b["pipe"].get<std::string>(),
                    {b["microseconds"].get<double>()},
                    fmt::format("{:.3f} us, {:.0f} CU clocks{}", b["microseconds"].get<double>(),
                                b["unit_clocks"].get<double>(), b["pipe"] == k["bound_by"] ? ": the bound" : "")});
  return chart("Best time by pipe, on the whole device", bars);
}

std::string class_chart(const Json& totals) {
  std::vector<Bar> bars;
  const auto all = totals["instructions"].get<double>();
  for (const auto& [name, count] : totals["classes"].items())
    bars.push_back({name,
                    {count.get<double>()},
                    fmt::format("{} ({:.1f} %)", count.get<std::uint64_t>(), 100 * count.get<double>() / all)});
  return chart("Instructions by class", bars);
}

std::vector<double> pipe_parts(const Json& totals) {
  std::vector<double> parts;
  for (const std::string& pipe : pipes) parts.push_back(static_cast<double>(pipe_clocks(totals, pipe)));
  return parts;
}

std::string loop_name(const Json& l) {
  return std::string(2 * l["depth"].get<std::size_t>(), '.') + address_text(l["header"].get<std::int64_t>()) + ".." +
         address_text(l["last"].get<std::int64_t>()) + (l["source"].is_null() ? "" : " " + source_text(l["source"]));
}

std::string loop_chart(const Json& loops) {
  if (loops.empty()) return "";
  std::vector<Bar> bars;
  for (const Json& l : loops)
    bars.push_back({loop_name(l), pipe_parts(l["totals"]),
                    fmt::format("{} iterations in {} entries, bound by {}", l["iterations"].get<std::uint64_t>(),
                                l["entries"].get<std::uint64_t>(), l["bound_by"].get<std::string>())});
  return chart("Loops: clocks of each pipe", bars) + html::legend({std::begin(pipes), std::end(pipes)});
}

std::string place_name(const Json& place) {
  if (place.contains("source")) return place["source"].is_null() ? "no line" : source_text(place["source"]);
  return address_text(place["first"].get<std::int64_t>()) + ".." + address_text(place["end"].get<std::int64_t>());
}

std::string place_chart(const Json& k) {
  const bool by_line = !k["lines"].empty();
  const Json& list = by_line ? k["lines"] : k["blocks"];
  std::vector<Bar> bars;
  for (const std::size_t n : costliest(list, shown_places))
    bars.push_back({place_name(list[n]), pipe_parts(list[n]["totals"]),
                    fmt::format("{} instructions", list[n]["totals"]["instructions"].get<std::uint64_t>())});
  return chart(by_line ? "Source lines: clocks of each pipe" : "Code: clocks of each pipe", bars) +
         html::legend({std::begin(pipes), std::end(pipes)});
}

std::string place_table(const Json& k) {
  const Json& list = k["lines"].empty() ? k["blocks"] : k["lines"];
  std::string out =
      "<h3>Numbers</h3>\n<div class=\"wide\"><table><tr><th class=\"t\">where</th><th>instructions</th><th>issue</th>";
  for (const std::string& pipe : pipes) out += fmt::format("<th>{}</th>", pipe);
  out += "<th>LDS conflicts</th><th>memory bytes</th><th>sectors of 64</th></tr>\n";
  for (const Json& place : list) {
    const Json &t = place["totals"], &m = t["memory"];
    out += fmt::format("<tr><td class=\"t\">{}</td><td>{}</td><td>{}</td>", html::escape(place_name(place)),
                       t["instructions"].get<std::uint64_t>(), t["clocks"]["issue"].get<std::uint64_t>());
    for (const std::string& pipe : pipes) out += fmt::format("<td>{}</td>", pipe_clocks(t, pipe));
    out += fmt::format("<td>{}</td><td>{}</td><td>{}</td></tr>\n", m["lds_conflict_clocks"].get<std::uint64_t>(),
                       m["bytes"].get<std::uint64_t>(), m["sectors64"].get<std::uint64_t>());
  }
  return out + "</table></div>\n";
}

std::string wave_chart(const Json& launches) {
  if (launches.empty()) return "";
  std::vector<Bar> bars;
  for (const Json& w : launches[0]["waves"])
    bars.push_back(
        {fmt::format("workgroup {}, wave {}", w["workgroup"].get<std::uint64_t>(), w["wave"].get<unsigned>()),
         {w["cycles"].get<double>()},
         fmt::format("{} clocks, {} instructions", w["cycles"].get<std::uint64_t>(),
                     w["totals"]["instructions"].get<std::uint64_t>())});
  return bars.empty() ? "" : chart("Waves of the first launch: clocks, each wave by itself", bars);
}

std::string kernel_section(const Json& k) {
  const Json& m = k["totals"]["memory"];
  std::string out = fmt::format(
      "<h2>{}</h2>\n<p>{} ({}, {} CUs at {} MHz, {} GB/s), wave{}; {} launches, {} workgroups, {} waves, {} "
      "instructions</p>\n"
      "<p>Memory: {} bytes asked for, {} bytes touched. LDS: {} bytes, {} clocks, {} of them for bank conflicts.</p>\n",
      html::escape(k["name"].get<std::string>()), html::escape(k["arch"].get<std::string>()),
      html::escape(k["device"]["product"].get<std::string>()), k["device"]["compute_units"].get<unsigned>(),
      k["device"]["clock_mhz"].get<unsigned>(), k["device"]["gigabytes_per_second"].get<unsigned>(),
      k["lanes"].get<unsigned>(), k["launch_count"].get<std::uint64_t>(), k["workgroup_count"].get<std::uint64_t>(),
      k["wave_count"].get<std::uint64_t>(), k["totals"]["instructions"].get<std::uint64_t>(),
      m["bytes"].get<std::uint64_t>(), k["footprint_bytes"].get<std::uint64_t>(), m["lds_bytes"].get<std::uint64_t>(),
      m["lds_clocks"].get<std::uint64_t>(), m["lds_conflict_clocks"].get<std::uint64_t>());
  out += bounds_chart(k) + class_chart(k["totals"]) + loop_chart(k["loops"]) + place_chart(k);
  if (k.contains("note")) out += fmt::format("<p class=\"note\">{}</p>\n", html::escape(k["note"].get<std::string>()));
  return out + wave_chart(k["launches"]) + place_table(k);
}

}  // namespace

std::string profile_html(const Json& profile) {
  std::string body =
      "<p class=\"note\">Counts are exact; clocks are those of the model in docs/simulator.md, which has no caches, no "
      "latency and no contention: each is the least time that the work takes on its pipe.</p>\n";
  for (const Json& k : profile["kernels"]) body += kernel_section(k);
  return html::page("rapt-sim profile", body);
}

}  // namespace rapt::sim::tool
