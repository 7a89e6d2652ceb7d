// The names of simulated devices: "gfx942", or with a product "gfx942:mi308x".
#pragma once

#include "sim/timing/chip.hpp"

#include <optional>
#include <string>

namespace rapt::sim::timing {

struct DeviceName {
  Arch arch;
  const Chip* chip;
};

std::optional<DeviceName> parse_device_name(std::string_view text);
std::string device_names();  // all of them, for messages

}  // namespace rapt::sim::timing
