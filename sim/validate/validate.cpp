#include "sim/validate/validate.hpp"

#include <new>
#include <set>

namespace rapt::sim::validate {
namespace {

// FNV-1a.
std::uint64_t hash(std::string_view text, std::uint64_t state = 0xcbf29ce484222325) {
  for (const char c : text) state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return state;
}

using Time = std::optional<double> Result::*;
using Pick = bool (*)(const Result&);

struct Forecaster {
  const char* name;
  Time time;
};
constexpr Forecaster forecasters[] = {{"forecast", &Result::forecast}, {"roofline", &Result::roofline}};

struct Group {
  const char* name;
  Pick pick;
};
constexpr Group groups[] = {{"fitted", [](const Result& r) { return !r.held_out; }},
                            {"held out", [](const Result& r) { return r.held_out; }},
                            {"all", [](const Result&) { return true; }}};

}  // namespace

bool held_out(const Measurement& row) { return hash(row.shape, hash(row.kernel + "\n")) % 3 == 0; }

Result evaluate(Objects& objects, const Measurement& row, const Roofline& roofline, const Forecast& forecast) {
  Result result;
  result.row = &row;
  result.problem = row.shape;
  result.held_out = held_out(row);
  try {
    const Family& family = family_of(row.kernel);
    result.family = family.name();
    const Shape shape(row.shape);
    result.problem = shape.text_without("splitK");
    result.roofline = roofline.microseconds(row);
    const timing::Chip& chip = chip_of(row.arch, row.compute_units);
    result.least = least_microseconds(family.work({row.arch, row.compute_units, row.kernel}, shape), chip);
    if (forecast) result.forecast = forecast(objects.bind(row, shape), chip);
  } catch (const std::runtime_error& refusal) {  // InputError, Fault, or what the forecast throws
    result.refusal = refusal.what();
  } catch (const std::bad_alloc&) {
    result.refusal = "out of memory";
  }
  return result;
}

std::vector<Summary> summarize(const std::vector<Result>& results) {
  std::set<std::pair<std::string, std::string>> keys;  // part and family
  bool forecasts = false;
  for (const Result& r : results) {
    keys.insert({r.row->part(), ""});
    keys.insert({r.row->part(), r.family.empty() ? "unknown" : r.family});
    forecasts |= r.forecast.has_value();
  }
  std::vector<Summary> summaries;
  for (const Forecaster& forecaster : forecasters) {
    if (forecaster.time == &Result::forecast && !forecasts) continue;
    for (const Group& group : groups)
      for (const auto& [part, family] : keys) {
        std::vector<Point> points;
        for (const Result& r : results)
          if (group.pick(r) && r.row->part() == part &&
              (family.empty() || family == (r.family.empty() ? "unknown" : r.family)))
            points.push_back({r.problem, r.row->microseconds, r.*forecaster.time});
        if (!points.empty()) summaries.push_back({forecaster.name, group.name, part, family, statistics(points)});
      }
  }
  return summaries;
}

}  // namespace rapt::sim::validate
