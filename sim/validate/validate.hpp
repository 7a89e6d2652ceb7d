// Measured rows beside forecasts of them.
#pragma once

#include "sim/validate/objects.hpp"
#include "sim/validate/roofline.hpp"
#include "sim/validate/statistics.hpp"

namespace rapt::sim::validate {

// Microseconds of the launch on the chip, and of what was timed with it. It may run any part of the launch; its results
// are not used.
using Forecast = std::function<double(const BoundLaunch& launch, const timing::Chip& chip)>;

struct Result {
  const Measurement* row = nullptr;
  std::string family;   // "" if it is unknown
  std::string problem;  // what is computed, without how the work is divided
  bool held_out = false;
  std::optional<double> roofline, forecast;  // microseconds
  double least = 0;                          // microseconds that its arithmetic takes at the peak rate; 0 if unknown
  std::string refusal;                       // why there is no forecast although forecasts were asked for
};

// The measurement cannot be right: it is faster than the product's peak rate.
inline bool impossible(const Result& result) { return result.row->microseconds < result.least; }

// A third of the rows, chosen by kernel and shape alone: no model may be fitted to them.
bool held_out(const Measurement& row);

// `forecast` may be empty.
Result evaluate(Objects& objects, const Measurement& row, const Roofline& roofline, const Forecast& forecast);

// The statistics of one group of rows, by what is forecast and by which rows.
struct Summary {
  std::string forecaster;    // "forecast", "roofline"
  std::string rows;          // "fitted", "held out", "all"
  std::string part, family;  // family "": all
  Statistics statistics;
};
std::vector<Summary> summarize(const std::vector<Result>& results);

}  // namespace rapt::sim::validate
