#include "sim/isa/facts/register_words.hpp"

#include <algorithm>

namespace rapt::sim {

void RegisterWords::add(const RegisterAccess& access) {
  const unsigned first = RegisterMask::place(access.file, access.first);
  // Registers past the end of their file are refused elsewhere.
  for (unsigned place = first; place < std::min<unsigned>(first + access.count, RegisterMask::size); ++place) {
    unsigned n = 0;
    while (n < count_ && at_[n] != place / 64) ++n;
    if (n == count_) at_[count_] = static_cast<std::uint8_t>(place / 64), bits_[count_++] = 0;
    bits_[n] |= std::uint64_t{1} << place % 64;
  }
}

}  // namespace rapt::sim
