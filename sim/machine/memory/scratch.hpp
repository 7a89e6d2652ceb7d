// SCRATCH instructions.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim {

void register_scratch(HandlerTable& table);

}  // namespace rapt::sim
