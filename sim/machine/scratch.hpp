// SCRATCH instructions.
#pragma once

#include "sim/machine/handlers.hpp"

namespace rapt::sim {

void register_scratch(HandlerTable& table);

}  // namespace rapt::sim
