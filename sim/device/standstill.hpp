// Whether a workgroup goes round without an end: it is in a state in which it was before, and nothing but another
// workgroup's store, or the host's, can make this round different from the last one.
#pragma once

#include "sim/machine/core/workgroup.hpp"

#include <cstddef>

namespace rapt::sim {

class Standstill {
 public:
  // Between turns of the group, which has run so many instructions and had so many effects that its state does not
  // show. Of how many instructions the rounds are in which the group is, as far as known; 0: none. Only states at
  // doubling numbers of instructions are kept (Brent's search for cycles), so that groups that compute pay nothing.
  std::uint64_t rounds(const Workgroup& group, std::uint64_t instructions, std::uint64_t effects);

 private:
  std::vector<std::byte> state_;
  std::uint64_t instructions_ = 0, effects_ = 0;  // when the group was in it
  std::uint64_t next_ = 1 << 16;                  // when another state is kept
};

}  // namespace rapt::sim
