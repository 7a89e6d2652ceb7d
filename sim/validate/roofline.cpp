#include "sim/validate/roofline.hpp"

#include "sim/validate/input/input_error.hpp"
#include "sim/validate/family.hpp"

#include <cmath>

namespace rapt::sim::validate {
namespace {

std::optional<double> without_factor(const Measurement& row) {
  try {
    const Target target{row.arch, row.compute_units, row.kernel};
    return roofline_microseconds(family_of(row.kernel).work(target, Shape(row.shape)),
                                 chip_of(row.arch, row.compute_units));
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace

double least_microseconds(const Work& work, const timing::Chip& chip) {
  const double rate = peak(chip, work.type);
  if (rate == 0) throw InputError(std::string(chip.name) + " has no matrix instruction of that type");
  return work.flops / rate * 1e6;
}

double roofline_microseconds(const Work& work, const timing::Chip& chip) {
  const double memory = work.bytes / (0.8 * chip.memory_gigabytes * 1e9) * 1e6;
  return std::max(least_microseconds(work, chip) / 0.5, memory) + 4;
}

Roofline::Roofline(const std::vector<Measurement>& rows) {
  std::map<std::string, std::pair<double, unsigned>> sums;  // of logarithms
  for (const Measurement& row : rows)
    if (const auto us = without_factor(row)) {
      auto& [sum, count] = sums[row.part()];
      sum += std::log(row.microseconds / *us);
      ++count;
    }
  for (const auto& [part, sum] : sums) factors_[part] = std::exp(sum.first / sum.second);
}

std::optional<double> Roofline::microseconds(const Measurement& row) const {
  const auto us = without_factor(row);
  if (!us) return std::nullopt;
  return *us * factors_.at(row.part());
}

}  // namespace rapt::sim::validate
