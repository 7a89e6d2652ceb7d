// One zstd frame into memory of a known size.
#pragma once

#include <cstddef>
#include <span>

namespace rapt::gpu {

// Throws Error, which begins with `where`, unless `stored` is exactly one frame that has a content checksum and holds
// exactly out.size() bytes. Allocates nothing that depends on what the frame says.
void decompress(const char* where, std::span<const std::byte> stored, std::span<std::byte> out);

}  // namespace rapt::gpu
