// One zstd frame of a known size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rapt::gpu {

// Throws Error, which begins with `where`, unless `stored` is exactly one frame with a content checksum whose header
// says that it holds `size` bytes. Checked before they are allocated.
std::vector<std::byte> decompress(const char* where, std::span<const std::byte> stored, uint64_t size);

}  // namespace rapt::gpu
