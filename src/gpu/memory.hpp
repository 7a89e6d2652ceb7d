// Memory of a HIP device, for callers without HIP of their own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rapt::gpu {

void* allocate(int32_t device, size_t bytes);
void release(int32_t device, void* data);
void copy(int32_t device, void* to, const void* from, size_t bytes);  // to or from it, or within it
void synchronize(int32_t device);

}  // namespace rapt::gpu
