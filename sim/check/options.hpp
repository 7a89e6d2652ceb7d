// The checks that run: RAPT_SIM_CHECK is "all", or a comma list of these names; unset, empty or "0": none.
#pragma once

#include <string_view>

namespace rapt::sim {

struct CheckOptions {
  bool values = false;     // a value never written that reaches a store, an address or a branch
  bool races = false;      // unordered accesses of two waves to LDS, of two workgroups to global memory
  bool barriers = false;   // waves of a group at different barriers, or ended while others wait
  bool waits = false;      // data used before the wait for it
  bool hazards = false;    // results used inside the hardware's hazard window
  bool operands = false;   // halves of gfx11's WMMA operands that differ
  bool alignment = false;  // misaligned vector accesses
  bool any() const { return values || races || barriers || waits || hazards || operands || alignment; }
};

// Throws std::invalid_argument that names an unknown check and lists the known ones.
CheckOptions parse_checks(std::string_view text);
// Those of the environment, read once; an unknown name is reported on stderr and turns all checks on.
const CheckOptions& check_options();

}  // namespace rapt::sim
