// Damaged code objects and bundles: whatever is changed, they are either loaded or refused.
#pragma once

#include "sim/loader/code_object.hpp"

#include <vector>

namespace rapt::sim::test {

void load_or_refuse(const std::vector<std::byte>& bytes, Arch arch);
// Changes each of the first `count` bytes separately: its lowest, its highest and all its bits.
void load_or_refuse_changed(std::vector<std::byte> bytes, std::size_t count, Arch arch);

}  // namespace rapt::sim::test
