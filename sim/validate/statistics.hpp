// How good forecasts are, over the rows of one part. A row without a forecast counts as wrong.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace rapt::sim::validate {

struct Point {
  std::string problem;  // what is computed: several kernels may compute the same
  double measured;      // microseconds
  std::optional<double> forecast;
};

struct Share {
  std::size_t right = 0, of = 0;
  std::optional<double> percent() const {
    return of == 0 ? std::nullopt : std::optional(100.0 * static_cast<double>(right) / static_cast<double>(of));
  }
};

struct Statistics {
  static constexpr std::array<double, 3> tolerances = {0.15, 0.25, 0.30};
  static constexpr double shortest = 10;  // microseconds; launches shorter than this are mostly overhead

  std::size_t rows = 0, forecasts = 0;
  std::array<Share, 3> within;  // of the rows from `shortest` on: forecast over measured is off by at most this
  std::optional<double> geometric_mean;  // of forecast over measured, of these rows as far as they have a forecast
  Share order;   // of the pairs whose times differ by a factor of 1.1 to 1.5: the forecasts differ the same way
  Share rivals;  // of the pairs that compute the same problem, and differ by a factor of 1.1 or more
};

Statistics statistics(const std::vector<Point>& points);

}  // namespace rapt::sim::validate
