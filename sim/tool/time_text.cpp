#include "sim/tool/time_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rapt::sim::tool {
namespace {

std::string table_text(const TimeTable& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    widths.push_back(table.columns[c].size());
    for (const auto& row : table.rows) widths[c] = std::max(widths[c], row[c].size());
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text = " ";
    for (std::size_t c = 0; c < cells.size(); ++c)
      text += is_text_column(table.columns[c]) ? fmt::format(" {:<{}} ", cells[c], widths[c])
                                               : fmt::format(" {:>{}} ", cells[c], widths[c]);
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string out = fmt::format("\n  {}\n", table.title) + line(table.columns);
  for (const auto& row : table.rows) out += line(row);
  return out;
}

}  // namespace

std::string time_text(const Json& kernel, const std::string& model, double flops) {
  std::string out;
  for (const std::string& line : times_header(kernel, model, flops)) out += (out.empty() ? "" : "  ") + line + "\n";
  for (const TimeTable& table : time_tables(kernel)) out += table_text(table);
  if (kernel.contains("note")) out += fmt::format("\n  {}\n", kernel["note"].get<std::string>());
  return out;
}

}  // namespace rapt::sim::tool
