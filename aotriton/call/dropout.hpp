// What callers want of dropout beside the attention: its mask, and the numbers that it was drawn from.
#pragma once

#include "aotriton/call/call.hpp"
#include "aotriton/hip/devices.hpp"

namespace rapt::aot {

Error write_mask(const T4& signs, float probability, const DeviceNumber& seed, const DeviceNumber& offset,
                 const Device& device, HipStream stream);

Error write_numbers(const ForwardCall& call, const Device& device);

}  // namespace rapt::aot
