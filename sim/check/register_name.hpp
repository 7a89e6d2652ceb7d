// Registers as the assembler writes them, for the sanitizer's reports.
#pragma once

#include "sim/isa/effects.hpp"

#include <string>

namespace rapt::sim {

std::string register_name(RegisterFile file, unsigned index);

}  // namespace rapt::sim
