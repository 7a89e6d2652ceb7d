// The results of dropout that callers ask for beside attention: its mask, and the seed and offset that made it.
#pragma once

#include "aotriton/call/call.hpp"
#include "aotriton/hip/devices.hpp"

namespace rapt::aot {

Error write_mask(const T4& signs, float probability, const DeviceNumber& seed, const DeviceNumber& offset,
                 const Device& device, HipStream stream);

Error write_numbers(const ForwardCall& call, const Device& device);

}  // namespace rapt::aot
