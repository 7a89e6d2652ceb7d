// How far a chip's forecasts were from measured times.
#pragma once

#include "sim/timing/chip.hpp"

namespace rapt::sim::timing {

// Over AMD's published times of 10 us and more (docs/performance/amd-time.md).
struct Accuracy {
  std::string_view chip;
  unsigned rows;          // published times; 0: of this chip there are none, and `within` is a guess from others
  double geometric_mean;  // of forecast over measured
  double within;          // so far at most was a forecast from its time, as a fraction of that, ...
  double share;           // ... in this share of the rows

  // The shortest and the longest time that a forecast may stand for, with that share of rows inside.
  double low(double forecast) const { return forecast / (1 + within); }
  double high(double forecast) const { return forecast / (1 - within); }
};

Accuracy accuracy_of(const Chip& chip);

}  // namespace rapt::sim::timing
