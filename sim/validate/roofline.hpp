// The forecast to beat: the most that arithmetic and memory allow at usual efficiencies, and one factor per part.
#pragma once

#include "sim/validate/input/measurements.hpp"
#include "sim/validate/launch/prepared_launch.hpp"

#include <map>
#include <optional>

namespace rapt::sim::validate {

class Roofline {
 public:
  // The factor of each part makes the geometric mean of forecast over measured 1 over its rows.
  explicit Roofline(const std::vector<Measurement>& rows);

  // None if the row's kernel, shape or product is not known.
  std::optional<double> microseconds(const Measurement& row) const;
  const std::map<std::string, double>& factors() const { return factors_; }  // by part

 private:
  std::map<std::string, double> factors_;
};

// Half of the peak rate or 0.8 of the bandwidth, whichever takes longer, and 4 microseconds.
double roofline_microseconds(const Work& work, const timing::Chip& chip);
// No launch can be faster: the peak rate.
double least_microseconds(const Work& work, const timing::Chip& chip);

}  // namespace rapt::sim::validate
