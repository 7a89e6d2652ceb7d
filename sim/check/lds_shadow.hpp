// For every bit of a workgroup's LDS: whether it is undefined.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

namespace rapt::sim {

class LdsShadow {
 public:
  explicit LdsShadow(std::size_t bytes) : bytes_(bytes, 0xff) {}

  bool defined(std::uint64_t offset, unsigned bytes) const {
    unsigned char any = 0;
    for (unsigned b = 0; b < bytes && offset + b < bytes_.size(); ++b) any |= bytes_[offset + b];
    return any == 0;
  }
  // Of up to four bytes.
  std::uint32_t bits(std::uint64_t offset, unsigned bytes) const {
    std::uint32_t bits = 0;
    if (offset + bytes <= bytes_.size()) std::memcpy(&bits, bytes_.data() + offset, bytes);
    return bits;
  }
  void set_bits(std::uint64_t offset, unsigned bytes, std::uint32_t bits) {
    if (offset + bytes <= bytes_.size()) std::memcpy(bytes_.data() + offset, &bits, bytes);
  }

 private:
  std::vector<unsigned char> bytes_;
};

}  // namespace rapt::sim
