// How far the median of measurements can be trusted: its bootstrap interval (Efron, "Bootstrap methods: another look at
// the jackknife", Annals of Statistics 7, 1979). For a median the distribution over all resamples has a closed form,
// also from that paper. So nothing is drawn at random: the same measurements always have the same interval.
#pragma once

#include <span>

namespace rapt::cli {

struct Interval {
  double low = 0, high = 0;
};

// The element that half of the values do not exceed. `values` must not be empty.
double median(std::span<const double> values);

// The percentile interval of the median at this confidence, such as 0.95. `values` must not be empty.
Interval median_interval(std::span<const double> values, double confidence);

}  // namespace rapt::cli
