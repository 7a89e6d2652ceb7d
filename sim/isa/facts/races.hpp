// What the check of races knows of a static instruction.
#pragma once

#include "sim/isa/effects.hpp"

namespace rapt::sim {

struct RaceFacts {
  bool coherent = false;          // marked as a load or store that may be atomic
  bool stores_registers = false;  // the memory operand's registers go to memory as they are
  bool upper_half = false;        // ... but a narrow store takes their upper half
};

RaceFacts race_facts(const Instruction& instruction, const Effects& effects, Arch arch);

}  // namespace rapt::sim
