// The device that a code object is for: a processor and two target features (AMDGPUUsage, "Target ID").
#pragma once

#include "sim/loader/elf.hpp"

#include <optional>

namespace rapt::sim {

enum class Feature : std::uint8_t { unsupported, any, off, on };

struct Target {
  std::string processor;  // "gfx942", "gfx11-generic"
  Feature xnack = Feature::any, sramecc = Feature::any;
};

// From "gfx90a:sramecc+:xnack-"; none if a feature is unknown.
std::optional<Target> parse_target(std::string_view text);
// From the flags of an ELF header.
Target elf_target(const Elf64_Ehdr& header);
std::string to_string(const Target& target);

// How well code for the target suits the device: 0 means that it cannot run, more is better.
int fitness(const Target& target, Arch arch);

}  // namespace rapt::sim
