// Special GLOBAL instructions: by lane number, in blocks, transposing, loads to LDS, and those for caches.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim {

void register_global_special(HandlerTable& table);
void register_global_transpose(HandlerTable& table);

}  // namespace rapt::sim
