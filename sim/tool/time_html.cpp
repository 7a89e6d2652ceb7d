// One page without links or a network: where the time goes, and a timeline of one compute unit, which a script draws.
#include "sim/tool/time_report.hpp"

#include "common/html.hpp"

#include <fmt/format.h>

namespace rapt::sim::tool {
namespace {

namespace html = common::html;

std::string table_html(const TimeTable& table) {
  std::string out = fmt::format("<h3>{}</h3>\n<div class=\"wide\"><table><tr>", html::escape(table.title));
  const auto tag = [&](std::size_t column) { return is_text_column(table.columns[column]) ? " class=\"t\"" : ""; };
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += fmt::format("<th{}>{}</th>", tag(c), html::escape(table.columns[c]));
  out += "</tr>\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t c = 0; c < row.size(); ++c) out += fmt::format("<td{}>{}</td>", tag(c), html::escape(row[c]));
    out += "</tr>\n";
  }
  return out + "</table></div>\n";
}

}  // namespace

std::string time_html(const Json& times, double flops) {
  const auto model = times["model"].get<std::string>();
  std::string body = fmt::format(
      "<p class=\"note\">Forecasts of {}, not measurements: docs/simulator.md says how they are made.</p>\n",
      html::escape(model));
  std::size_t number = 0;
  for (const Json& kernel : times["kernels"]) {
    const std::vector<std::string> lines = times_header(kernel, model, flops);
    body += fmt::format("<h2>{}</h2>\n<p>", html::escape(lines.front()));
    for (std::size_t n = 1; n < lines.size(); ++n) body += (n > 1 ? "<br/>\n" : "") + html::escape(lines[n]);
    body += "</p>\n" + timeline_html(kernel, number++);
    for (const TimeTable& table : time_tables(kernel)) body += table_html(table);
    if (kernel.contains("note"))
      body += fmt::format("<p class=\"note\">{}</p>\n", html::escape(kernel["note"].get<std::string>()));
  }
  return html::page("rapt-sim time", body);
}

}  // namespace rapt::sim::tool
