// Code objects inside a file: the file itself, an offload bundle, or a program that holds bundles.
#pragma once

#include "sim/isa/arch.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace rapt::sim::tool {

struct FoundCode {
  Arch arch;
  std::vector<std::byte> elf;
};

// Every code object for `arch`, or for any architecture that the simulator knows. Throws LoadError if the bytes are
// none of these; an empty list if nothing fits.
std::vector<FoundCode> find_code(std::span<const std::byte> bytes, const Arch* arch);

}  // namespace rapt::sim::tool
