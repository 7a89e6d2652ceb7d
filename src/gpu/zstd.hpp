// One zstd frame of a known size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rapt::gpu {

// Throws Error, which begins with `where`, unless `stored` is exactly one frame that has a content checksum and holds
// `size` bytes, as it says itself: that is checked before they are allocated.
std::vector<std::byte> decompress(const char* where, std::span<const std::byte> stored, uint64_t size);

}  // namespace rapt::gpu
