// Kernels whose workgroups depend on each other: persistent ones draw a ticket for each tile, those with split K count
// who is last, others wait until a word in memory changes. An atomic that returns what it found tells them, or a load.
#pragma once

#include "sim/machine/core/program.hpp"

namespace rapt::sim::timing {

// In ascending order of what depends on other workgroups.
enum class Tickets : std::uint8_t {
  none,
  looks,    // what a loop loads decides whether it goes on: it may wait for others
  order,    // compare-and-swap, tried again until it succeeds: a workgroup waits for others, and does its own work
  numbers,  // which work a workgroup does
};

// By the code that can be reached from the kernel's entry. If it jumps to an address in registers, nobody can say what
// its loops look at, and atomics are looked for in all of the text.
Tickets tickets_of(const Program& program, std::uint64_t entry);

}  // namespace rapt::sim::timing
