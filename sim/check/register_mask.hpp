// A set of registers: VGPRs, AGPRs, SGPRs and SCC in one row of bits.
#pragma once

#include "sim/isa/effects.hpp"

#include <array>

namespace rapt::sim {

class RegisterMask {
 public:
  static constexpr unsigned size = 256 + 256 + 128 + 1;

  static unsigned place(RegisterFile file, unsigned index) {
    static constexpr unsigned begin[] = {0, 256, 512, 640};
    return begin[static_cast<unsigned>(file)] + index;
  }

  bool has(unsigned place) const { return (words_[place / 64] >> place % 64 & 1) != 0; }
  void remove(unsigned place) { words_[place / 64] &= ~(std::uint64_t{1} << place % 64); }
  void clear() { words_ = {}; }

  // At most 32 registers, which lie in two words.
  bool touches(const RegisterAccess& access) const {
    const unsigned first = place(access.file, access.first), shift = first % 64;
    const std::uint64_t bits = (std::uint64_t{1} << access.count) - 1;
    const std::uint64_t here = words_[first / 64] & bits << shift;
    return shift + access.count <= 64 ? here != 0 : (here | (words_[first / 64 + 1] & bits >> (64 - shift))) != 0;
  }
  void add(const RegisterAccess& access) {
    const unsigned first = place(access.file, access.first), shift = first % 64;
    const std::uint64_t bits = (std::uint64_t{1} << access.count) - 1;
    words_[first / 64] |= bits << shift;
    if (shift + access.count > 64) words_[first / 64 + 1] |= bits >> (64 - shift);
  }

 private:
  std::array<std::uint64_t, size / 64 + 1> words_{};
};

}  // namespace rapt::sim
