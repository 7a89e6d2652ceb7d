// Results of integer operations from arithmetic that is wide enough, saturated as by CLAMP (CDNA4 6.5, RDNA4 7.2.3.1:
// "For integer operations, it clamps the result to the largest and smallest representable value").
#pragma once

#include "sim/tests/support/vop/forms.hpp"

#include <optional>

namespace rapt::sim::test {

// A lane's sources; of a lane mask the lane's bit.
using LaneSources = std::array<std::vector<std::uint32_t>, 3>;

// The dwords of the lane's result. None for operations whose result always fits, on which CLAMP has no effect.
// `signed_sources`: neg's bits of v_dot4_i32_iu8 and v_dot8_i32_iu4, which say which source is signed.
std::optional<std::vector<std::uint32_t>> integer_result(const VopForm& form, const LaneSources& sources,
                                                         unsigned signed_sources, bool clamp);

}  // namespace rapt::sim::test
