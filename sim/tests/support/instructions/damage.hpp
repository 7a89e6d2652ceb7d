// Damaged code objects and bundles: whatever is changed, they are loaded or refused.
#pragma once

#include "sim/loader/code_object.hpp"

#include <vector>

namespace rapt::sim::test {

void load_or_refuse(const std::vector<std::byte>& bytes, Arch arch);
// Each of the first `count` bytes on its own, with its lowest, its highest and all its bits changed.
void load_or_refuse_changed(std::vector<std::byte> bytes, std::size_t count, Arch arch);

}  // namespace rapt::sim::test
