#include "sim/validate/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace rapt::sim::validate {
namespace {

using Json = nlohmann::json;

std::string number(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "none";
}

std::optional<double> ratio(const Result& r) {
  return r.forecast ? std::optional(*r.forecast / r.row->microseconds) : std::nullopt;
}

Json json(std::optional<double> value) { return value ? Json(*value) : Json(nullptr); }
Json json(const Share& share) { return {{"right", share.right}, {"of", share.of}, {"percent", json(share.percent())}}; }

Json json(const Result& r) {
  return {{"part", r.row->part()},
          {"family", r.family},
          {"kernel", r.row->kernel},
          {"shape", r.row->shape},
          {"held_out", r.held_out},
          {"impossible", impossible(r)},
          {"measured_us", r.row->microseconds},
          {"forecast_us", json(r.forecast)},
          {"roofline_us", json(r.roofline)},
          {"refusal", r.refusal}};
}

Json json(const Summary& summary) {
  const Statistics& s = summary.statistics;
  Json within = Json::object();
  for (std::size_t t = 0; t < s.within.size(); ++t)
    within[fmt::format("{:.0f}%", 100 * Statistics::tolerances[t])] = json(s.within[t]);
  return {{"forecaster", summary.forecaster},
          {"rows", summary.rows},
          {"part", summary.part},
          {"family", summary.family},
          {"count", s.rows},
          {"forecasts", s.forecasts},
          {"within", within},
          {"geometric_mean", json(s.geometric_mean)},
          {"order", json(s.order)},
          {"rivals", json(s.rivals)}};
}

std::string share(const Share& share) {
  return share.of == 0 ? "none" : fmt::format("{:.1f}% of {}", *share.percent(), share.of);
}

}  // namespace

std::string heading() {
  return fmt::format("{:<11} {:<10} {:<8} {:<42} {:<60} {:>11} {:>11} {:>7} {:>11}\n", "part", "family", "rows",
                     "kernel", "shape", "forecast us", "measured us", "ratio", "roofline us");
}

std::string line(const Result& r) {
  std::string text = fmt::format("{:<11} {:<10} {:<8} {:<42} {:<60} {:>11} {:>11.3f} {:>7} {:>11}\n", r.row->part(),
                                 r.family.empty() ? "unknown" : r.family, r.held_out ? "held out" : "fitted",
                                 plain_name(r.row->kernel), r.row->shape, number(r.forecast, 3), r.row->microseconds,
                                 number(ratio(r), 3), number(r.roofline, 3));
  if (impossible(r))
    text += fmt::format("  line {}: its arithmetic takes {:.1f} us at the peak rate\n", r.row->line, r.least);
  if (!r.refusal.empty()) text += fmt::format("  line {}: {}\n", r.row->line, r.refusal);
  return text;
}

std::string line(const Check& check) {
  const std::string what = fmt::format("{:<42} {}", plain_name(check.kernel), check.shape);
  if (!check.failure.empty()) return fmt::format("FAILED {}: {}\n", what, check.failure);
  const Comparison& c = check.result;
  if (!check.good())
    return fmt::format("WRONG  {}: {} of {}, the first: {}\n", what, c.wrong, c.compared, c.first_wrong);
  return fmt::format("good   {}: {} results, the largest error {:.2f} of what is allowed\n", what, c.compared, c.worst);
}

std::string table(const std::vector<Summary>& summaries, const Roofline& roofline) {
  std::string text;
  std::string before;
  for (const Summary& summary : summaries) {
    const std::string title = fmt::format("{}, {} rows", summary.forecaster, summary.rows);
    if (title != before) {
      text += fmt::format("\n{}\n  {:<11} {:<10} {:>5} {:>6} {:>6} {:>6} {:>6} {:>9}  {:<18} {}\n", title, "part",
                          "family", "rows", ">=10us", "15%", "25%", "30%", "geo. mean", "order", "same problem");
      before = title;
    }
    const Statistics& s = summary.statistics;
    text += fmt::format("  {:<11} {:<10} {:>5} {:>6}", summary.part, summary.family.empty() ? "all" : summary.family,
                        s.rows, s.within[0].of);
    for (const Share& within : s.within) text += fmt::format(" {:>6}", number(within.percent(), 1));
    text += fmt::format(" {:>9}  {:<18} {}\n", number(s.geometric_mean, 3), share(s.order), share(s.rivals));
  }
  text += "\nfactors of the roofline:";
  for (const auto& [part, factor] : roofline.factors()) text += fmt::format(" {} {:.3f}", part, factor);
  return text + "\n";
}

Json json(const std::vector<Result>& results, const std::vector<Summary>& summaries, const Roofline& roofline) {
  Json rows = Json::array(), sums = Json::array();
  for (const Result& r : results) rows.push_back(json(r));
  for (const Summary& s : summaries) sums.push_back(json(s));
  return {{"format", "rapt-sim validate 1"}, {"rows", rows}, {"factors", roofline.factors()}, {"summaries", sums}};
}

}  // namespace rapt::sim::validate
