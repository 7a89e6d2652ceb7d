// Formats a profile (the JSON of profile/report.hpp) as text or HTML; pieces for reports of forecasts too.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rapt::sim::tool {

using Json = nlohmann::ordered_json;

std::string profile_text(const Json& kernel);
std::string profile_html(const Json& profile);

// The kernels of a report; keep_only throws InputError if it was not launched.
std::string kernel_names(const Json& report);
void keep_only(Json& report, const std::string& kernel);

// Pieces of both.
std::string address_text(std::int64_t offset);      // "+0x1c0"
std::string source_text(const Json& source);        // "file.hip:12", or "-"
std::string shape_text(const Json& three_numbers);  // "4x1x1"
std::uint64_t pipe_clocks(const Json& totals, const std::string& pipe);
// Indices of the n entries of a list with the most issue clocks, in descending order.
std::vector<std::size_t> costliest(const Json& list, std::size_t n);

}  // namespace rapt::sim::tool
