#include "sim/machine/matrix/check.hpp"

namespace rapt::sim::matrix {

std::optional<UnequalCopy> unequal_copy(Wave& w, const Instruction& i) {
  for (unsigned source = 0; source < 2; ++source)
    for (unsigned dword = 0; dword < i.src[source].dwords; ++dword) {
      const std::uint32_t* const row = w.row(i.src[source]) + dword * w.lanes;
      for (unsigned lane = 16; lane < w.lanes; ++lane)
        if (row[lane] != row[lane % 16]) return UnequalCopy{source, dword, lane};
    }
  return std::nullopt;
}

}  // namespace rapt::sim::matrix
