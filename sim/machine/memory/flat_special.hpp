// GLOBAL instructions of other shapes: by lane number, in blocks, transposing, straight to LDS, and those for caches.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim {

void register_global_special(HandlerTable& table);
void register_global_transpose(HandlerTable& table);

}  // namespace rapt::sim
