// Memory of a GPU, for callers that do not call its driver themselves.
#pragma once

#include <cstddef>

#include "rapt/rapt.h"

namespace rapt::gpu {

void* allocate(rapt_device device, size_t bytes);
void release(rapt_device device, void* data);
void copy(rapt_device device, void* to, const void* from, size_t bytes);  // to or from it, or within it
void synchronize(rapt_device device);

}  // namespace rapt::gpu
