// A few registers as words of bits, for fast comparison with a set that covers all of a wave's registers.
#pragma once

#include "sim/isa/facts/register_mask.hpp"

namespace rapt::sim {

// A bit for each register, at RegisterMask::place().
using RegisterBits = std::array<std::uint64_t, RegisterMask::size / 64 + 1>;

// The words of such a set that contain a static instruction's registers.
class RegisterWords {
 public:
  void add(const RegisterAccess& access);
  bool touches(const RegisterBits& set) const {
    std::uint64_t any = 0;
    for (unsigned n = 0; n < count_; ++n) any |= set[at_[n]] & bits_[n];
    return any != 0;
  }

 private:
  std::array<std::uint64_t, std::tuple_size_v<RegisterBits>> bits_;
  std::array<std::uint8_t, std::tuple_size_v<RegisterBits>> at_;
  std::uint8_t count_ = 0;
};

}  // namespace rapt::sim
