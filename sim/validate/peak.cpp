#include "sim/validate/peak.hpp"

#include "sim/validate/input/input_error.hpp"

namespace rapt::sim::validate {

// Operations per compute unit and clock, from the data sheets' TFLOP/s. MI100: 92.3 (bf16) and 184.6 (int8). A die of
// MI250X: 191.5. MI300X: 1307, 2615 and 2615. MI355X: 2517, 5033, 5033 and 10066. RDNA: AMD's "Using the Matrix Cores
// of AMD RDNA 4 architecture GPUs" (GPUOpen).
double peak(const timing::Chip& chip, MatrixType type) {
  static constexpr double table[arch_count][4] = {{512, 0, 1024, 0},         {1024, 0, 1024, 0}, {2048, 4096, 4096, 0},
                                                  {4096, 8192, 8192, 16384}, {512, 0, 512, 0},   {512, 0, 512, 0},
                                                  {1024, 2048, 2048, 0}};
  const double per_clock = table[static_cast<unsigned>(instructions_of(chip.arch))][static_cast<unsigned>(type)];
  return per_clock * compute_units(chip) * chip.clock_mhz * 1e6;
}

const timing::Chip& chip_of(Arch arch, unsigned compute_units) {
  if (const timing::Chip* const chip = timing::find_chip(arch, compute_units)) return *chip;
  std::string known;
  for (const timing::Chip& chip : timing::chips())
    known += (known.empty() ? "" : ", ") + std::string(name(chip.arch)) + " with " +
             std::to_string(timing::compute_units(chip));
  throw InputError("no product is known that is " + std::string(name(arch)) + " with " + std::to_string(compute_units) +
                   " compute units; there are " + known);
}

}  // namespace rapt::sim::validate
