// The report of forecasts: where the time of the timed waves goes, by loop, source line and instruction.
#pragma once

#include "sim/profile/time_log.hpp"

namespace rapt::sim {

std::string times_json(const std::vector<KernelTimes>& kernels);

}  // namespace rapt::sim
