// One zstd frame of a known size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rapt::gpu {

// `stored` must be exactly one frame, with a content checksum and a header that says `size` bytes; the header is
// checked before memory is allocated. Throws Error, which begins with `where`.
std::vector<std::byte> decompress(const char* where, std::span<const std::byte> stored, uint64_t size);

}  // namespace rapt::gpu
