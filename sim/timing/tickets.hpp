// Kernels whose workgroups find out from each other who does what: persistent ones draw a ticket for each tile, those
// with split K count who is last. An atomic that returns what it found tells them.
#pragma once

#include "sim/machine/core/program.hpp"

namespace rapt::sim::timing {

// In ascending order of what depends on other workgroups.
enum class Tickets : std::uint8_t {
  none,
  order,    // compare-and-swap, tried again until it succeeds: a workgroup waits for others, and does its own work
  numbers,  // which work a workgroup does
};

// By the code that can be reached from the kernel's entry; if it jumps to an address in registers, by all of the text.
Tickets tickets_of(const Program& program, std::uint64_t entry);

}  // namespace rapt::sim::timing
