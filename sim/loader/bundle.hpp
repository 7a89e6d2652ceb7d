// Containers of code objects: Clang's offload bundle, plain and compressed (Clang's ClangOffloadBundler documentation).
#pragma once

#include "sim/loader/bytes.hpp"

namespace rapt::sim {

struct BundleEntry {
  std::string id;  // "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+"
  std::uint64_t offset, size;
};

bool is_bundle(std::span<const std::byte> bytes);
std::vector<BundleEntry> read_bundle(std::span<const std::byte> bytes);

bool is_compressed(std::span<const std::byte> bytes);
std::vector<std::byte> decompress_bundle(std::span<const std::byte> bytes);
// The size of the file with its header. Version 1 does not store it, so it is found by decompressing.
std::size_t compressed_size(const std::byte* image);

}  // namespace rapt::sim
