// The parts of <arch>.rapt that the packer and the library's reader must agree on: header, code objects, index.
// docs/design/archive.md has the whole format. Little endian; freestanding except for <array>.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rapt::archive {

inline constexpr char kMagic[8] = {'R', 'A', 'P', 'T', 'K', 'E', 'R', 'N'};
inline constexpr uint32_t kVersion = 3, kOldestVersion = 2;  // written; the oldest that is read
inline constexpr uint64_t kAlignment = 64;                   // of each frame
inline constexpr uint64_t kMaxIndex = 16ULL << 20;           // bytes; a whole archive's index has some 100 kB
inline constexpr uint64_t kMaxFrameSize = 64ULL << 20;       // bytes of one frame, decompressed

// Triton's kernels have two pointers after the operation's struct, null here, for scratch memory that they do not need.
// They assume rows and tensors aligned to 16 bytes, and rows whose distance in elements is below a limit.
inline constexpr int kTritonArguments = 16;  // bytes
inline constexpr int kTritonAlignment = 16;
inline constexpr int kTritonRowStride = 1 << 20;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t index_crc32;
  uint64_t index_offset;
  uint64_t index_size;
};
static_assert(sizeof(Header) == 32);

// CRC-32 of zlib and gzip (reflected 0xEDB88320).
inline uint32_t crc32(const void* data, size_t size) {
  static constexpr auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xEDB88320U : 0);
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = 0xFFFFFFFFU;
  for (size_t i = 0; i < size; ++i) crc = crc >> 8 ^ kTable[(crc ^ static_cast<const uint8_t*>(data)[i]) & 255];
  return ~crc;
}

}  // namespace rapt::archive
