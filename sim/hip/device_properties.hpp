#pragma once

#include "sim/hip/abi/device.hpp"
#include "sim/hip/runtime.hpp"

namespace rapt::sim::hip {

struct Version {
  int major, minor, stepping;
};
Version arch_version(Arch arch);

PropertiesR0600 properties_r0600(const Device& device);
PropertiesR0000 properties_r0000(const Device& device);

}  // namespace rapt::sim::hip
