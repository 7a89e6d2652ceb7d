// Formats a profile (the JSON of profile/report.hpp) as text or HTML.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rapt::sim::tool {

using Json = nlohmann::ordered_json;

std::string profile_text(const Json& kernel);
std::string profile_html(const Json& profile);

// Pieces of both.
std::string address_text(std::int64_t offset);      // "+0x1c0"
std::string source_text(const Json& source);        // "file.hip:12", or "-"
std::string shape_text(const Json& three_numbers);  // "4x1x1"
std::uint64_t pipe_clocks(const Json& totals, const std::string& pipe);
// Indices of the n entries of a list with the most issue clocks, in descending order.
std::vector<std::size_t> costliest(const Json& list, std::size_t n);

}  // namespace rapt::sim::tool
