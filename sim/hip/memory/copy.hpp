// Checks copies and fills and makes work from them.
#pragma once

#include "sim/hip/stream/work.hpp"

namespace rapt::sim::hip {

CopyWork plain_copy(void* to, const void* from, std::size_t bytes, CopyKind kind);
CopyWork pitched_copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                      std::size_t height, CopyKind kind);
CopyWork volume_copy(const Copy3D& parameters);
FillWork plain_fill(void* to, std::uint32_t value, unsigned element_size, std::size_t count);
FillWork pitched_fill(void* to, std::size_t pitch, std::uint32_t value, unsigned element_size, Extent extent,
                      std::size_t slice);

// The address and size of a __device__ variable, found by the host's variable of the same name.
struct Variable {
  char* address;
  std::size_t size;
};
Variable find_variable(const void* symbol);
char* variable_part(const void* symbol, std::size_t offset, std::size_t bytes);

}  // namespace rapt::sim::hip
