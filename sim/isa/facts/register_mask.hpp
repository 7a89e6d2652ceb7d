// Sets of registers.
#pragma once

#include "sim/isa/effects.hpp"

#include <algorithm>
#include <array>

namespace rapt::sim {

// One bit for a few registers: 8 VGPRs, 16 AGPRs, 8 SGPRs (SCC shares EXEC's bit). Sets without a common bit have no
// common register.
using RegisterGroups = std::uint64_t;

inline RegisterGroups register_groups(const RegisterAccess& access) {
  if (access.file == RegisterFile::scc) return RegisterGroups{1} << 63;
  static constexpr unsigned begin[] = {0, 32, 48}, shift[] = {3, 4, 3};
  const auto file = static_cast<unsigned>(access.file);
  const unsigned first = begin[file] + (access.first >> shift[file]);
  const unsigned last = std::min(begin[file] + ((access.first + access.count - 1U) >> shift[file]), 63U);
  return (~RegisterGroups{0} >> (63 - (last - first))) << first;
}

// VGPRs, AGPRs, SGPRs and SCC in one row of bits.
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

  // At most 32 registers, which are in two words.
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
