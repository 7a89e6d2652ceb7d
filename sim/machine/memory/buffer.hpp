// Buffer instructions: MUBUF, MTBUF and gfx12's VBUFFER.
#pragma once

#include "sim/machine/core/handlers.hpp"

namespace rapt::sim {

void register_buffer(HandlerTable& table);         // plain loads and stores
void register_buffer_format(HandlerTable& table);  // instructions that convert
void register_buffer_atomics(HandlerTable& table);

}  // namespace rapt::sim
