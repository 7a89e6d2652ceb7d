#include "sim/check/shadow.hpp"

#include <bit>

namespace rapt::sim {

void Shadow::undefine(unsigned row, std::uint64_t lanes) {
  undefined_[row] |= lanes;
  for (; lanes != 0; lanes &= lanes - 1)
    bits_[std::size_t{row} * lanes_ + static_cast<unsigned>(std::countr_zero(lanes))] = ~0U;
}

bool Shadow::touches(const RegisterAccess& access) const {
  switch (access.file) {
    case RegisterFile::scc: return scc_;
    case RegisterFile::sgpr:
      for (unsigned n = 0; n < access.count && access.first + n < sreg::count; ++n)
        if (scalar_[access.first + n] != 0) return true;
      return false;
    default:
      for (unsigned n = 0; n < access.count; ++n)
        if (undefined_[row_of(access.file, access.first + n)] != 0) return true;
      return false;
  }
}

}  // namespace rapt::sim
