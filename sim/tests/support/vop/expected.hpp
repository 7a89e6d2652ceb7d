// The effects of modifiers according to the ISA documents: changes of the sources before the same operation without
// modifiers, and of its result.
#pragma once

#include "sim/tests/support/vop/modifiers.hpp"

namespace rapt::sim::test {

// The words of the operation without modifiers from which expected results are made, and the same as a form.
VopForm reference_form(const VopForm& form);

// A source's rows as the operation sees them.
void modify_source(const VopForm& form, const VopSource& source, const Modifiers& m, std::vector<std::uint32_t>& rows);

// The part of the wave's state that matters.
struct ResultMode {
  bool omod_counts;  // not if output denormals are kept or MODE.IEEE is set (gfx12: always)
  bool nan_to_zero;  // by CLAMP
};
ResultMode result_mode(const Wave& wave, const VopForm& form);

using SourceRows = std::vector<std::vector<std::uint32_t>>;  // of each of a form's sources

struct Expected {
  VopResult result;
  std::vector<bool> open;  // lanes that the documents leave open
};
// `base`: the reference's result; `sources`: its operands; `before`: the destination's rows.
Expected modify_result(const VopForm& form, const Modifiers& m, ResultMode mode, VopResult base,
                       const SourceRows& sources, const std::vector<std::uint32_t>& before);

}  // namespace rapt::sim::test
