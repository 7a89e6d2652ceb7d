// Facts about a static instruction that the check of undefined values needs often.
#pragma once

#include "sim/isa/facts/register_words.hpp"

namespace rapt::sim {

struct ValueFacts {
  RegisterWords reads, writes;
  bool memory = false;     // loads, stores or atomics
  bool by_lane = false;    // what an active lane gets or stores depends only on that lane's vector registers
  bool d16 = false;        // a load or store of half a register
  bool upper = false;      // of its upper half
  std::uint32_t kept = 0;  // bits of the VGPR or AGPR that a VALU instruction writes that stay as they were
};

ValueFacts value_facts(const Instruction& instruction, const Effects& effects, Arch arch);

}  // namespace rapt::sim
