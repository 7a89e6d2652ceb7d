#include "sim/validate/peak.hpp"

#include "sim/validate/input/input_error.hpp"

namespace rapt::sim::validate {

// Per unit and clock: the data sheets' 1307, 2615 and 2615 TFLOP/s of MI300X, 2517, 5033, 5033 and 10066 of MI355X.
double peak(const timing::Chip& chip, MatrixType type) {
  static constexpr double gfx942[] = {2048, 4096, 4096, 0}, gfx950[] = {4096, 8192, 8192, 16384};
  const double per_clock = (chip.arch == Arch::gfx950 ? gfx950 : gfx942)[static_cast<unsigned>(type)];
  return per_clock * chip.dies * chip.units_per_die * chip.clock_mhz * 1e6;
}

const timing::Chip& chip_of(Arch arch, unsigned compute_units) {
  if (const timing::Chip* const chip = timing::find_chip(arch, compute_units)) return *chip;
  std::string known;
  for (const timing::Chip& chip : timing::chips())
    known += (known.empty() ? "" : ", ") + std::string(name(chip.arch)) + " with " +
             std::to_string(chip.dies * chip.units_per_die);
  throw InputError("no product is known that is " + std::string(name(arch)) + " with " + std::to_string(compute_units) +
                   " compute units; there are " + known);
}

}  // namespace rapt::sim::validate
