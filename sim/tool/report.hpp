// The forms in which a profile (profile/report.hpp's JSON) is shown.
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
// The n entries of a list with the most issue clocks, most first; their indices.
std::vector<std::size_t> costliest(const Json& list, std::size_t n);

}  // namespace rapt::sim::tool
