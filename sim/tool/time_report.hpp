// Formats forecasts (the JSON of profile/time_report.hpp) as text or HTML.
#pragma once

#include "sim/tool/report.hpp"

namespace rapt::sim::tool {

// flops: of one launch; 0: not known.
std::string time_text(const Json& kernel, const std::string& model, double flops);
std::string time_html(const Json& times, double flops);

// Pieces of both.
std::vector<std::string> times_header(const Json& kernel, const std::string& model, double flops);  // lines
struct TimeTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
// Where the time of the timed waves goes: by cause, loop, source line or block, and instruction.
std::vector<TimeTable> time_tables(const Json& kernel);
bool is_text_column(const std::string& name);  // left-aligned
// A drawing of the waves of one compute unit, with its script.
std::string timeline_html(const Json& kernel, std::size_t number);

}  // namespace rapt::sim::tool
