// Results as lines of text and as JSON.
#pragma once

#include "sim/validate/check.hpp"
#include "sim/validate/validate.hpp"

#include <nlohmann/json_fwd.hpp>

namespace rapt::sim::validate {

std::string heading();
std::string line(const Result& result);
std::string line(const Check& check);
std::string table(const std::vector<Summary>& summaries, const Roofline& roofline);

// {"format": "rapt-sim validate 1", "rows": [...], "factors": {...}, "summaries": [...]}
nlohmann::json json(const std::vector<Result>& results, const std::vector<Summary>& summaries,
                    const Roofline& roofline);

}  // namespace rapt::sim::validate
