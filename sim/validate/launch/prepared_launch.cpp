#include "sim/validate/launch/prepared_launch.hpp"

#include <cmath>

namespace rapt::sim::validate {

void Comparison::add(double result, double expected, double allowed, const std::function<std::string()>& where) {
  ++compared;
  const double error = std::abs(result - expected);
  if (error <= allowed) {
    if (allowed > 0) worst = std::max(worst, error / allowed);
    return;
  }
  worst = std::isnan(error) ? error : std::max(worst, error / allowed);
  if (wrong++ == 0) first_wrong = where() + " is " + std::to_string(result) + " instead of " + std::to_string(expected);
}

}  // namespace rapt::sim::validate
