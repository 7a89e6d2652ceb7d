#include "sim/check/values/shadow.hpp"

namespace rapt::sim {

void Shadow::set_partly(unsigned row, unsigned lane, std::uint32_t undefined) {
  if (!bits_) bits_ = std::make_unique_for_overwrite<std::uint32_t[]>(std::size_t{rows} * lanes_);
  const std::uint64_t lane_bit = std::uint64_t{1} << lane;
  undefine(row, lane_bit);
  partly_[row] |= lane_bit;
  bits_[std::size_t{row} * lanes_ + lane] = undefined;
}

bool Shadow::touches(const RegisterAccess& access, std::uint64_t lanes) const {
  switch (access.file) {
    case RegisterFile::scc: return scc();
    case RegisterFile::sgpr:
      for (unsigned n = 0; n < access.count && access.first + n < sreg::count; ++n)
        if (scalar_[access.first + n] != 0) return true;
      return false;
    default:
      for (unsigned n = 0; n < access.count; ++n)
        if ((undefined_[row_of(access.file, access.first + n)] & lanes) != 0) return true;
      return false;
  }
}

}  // namespace rapt::sim
