#include "sim/check/races/lanes.hpp"

#include <algorithm>

namespace rapt::sim {

void RaceLanes::join_halves(unsigned count, unsigned most) {
  for (unsigned far = count / 2; far >= 8 && bytes_ < most; far /= 2) {
    const u64 all = ~u64{0} >> (64 - count);
    if (lanes_ != all) return;
    if (at_[far] != at_[0] + bytes_) continue;
    u64 differs = 0;
    for (unsigned block = 0; block < count; block += 2 * far)
      for (unsigned l = block; l < block + far; ++l) differs |= at_[l + far] ^ (at_[l] + bytes_);
    if (differs != 0) continue;
    for (unsigned block = 0, to = 0; block < count; block += 2 * far, to += far)
      std::copy_n(at_ + block, far, joined_ + to);
    at_ = joined_;
    count /= 2;
    lanes_ = all >> count;
    bytes_ *= 2;
  }
}

bool RaceLanes::are_pieces(unsigned bytes) const {
  if (bytes_ != bytes) return false;
  return address_bits({Space::lds, Action::load, bytes, lanes_, at_}) % bytes == 0;
}

}  // namespace rapt::sim
