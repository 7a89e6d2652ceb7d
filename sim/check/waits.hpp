// The memory operations of one wave that may not have ended, and the registers that they will write.
#pragma once

#include "sim/isa/facts/register_mask.hpp"
#include "sim/isa/facts/waits.hpp"
#include "sim/machine/core/program.hpp"

#include <vector>

namespace rapt::sim {

class OutstandingOperations {
 public:
  // One operation: its place in the queue of each counter that it raised; 0 for the other counters.
  struct Operation {
    const Entry* entry = nullptr;
    std::array<std::uint32_t, counter_count> place{};
  };

  void wait(const Wave& wave, const WaitFacts& facts);
  Operation begin(const Entry& entry);
  bool ended(const Operation& operation) const;
  // The counter that must still decrease; the operation has not ended.
  Counter open_counter(const Operation& operation) const;

  // Whether an operation that has not ended may write any of these registers (quick), and whether one will (exact).
  bool may_touch(RegisterGroups groups) const { return (groups_ & groups) != 0; }
  bool touches(const RegisterAccess& access) const { return mask_.touches(access); }
  // The latest operation that will write the register, or none.
  const Operation* writer(RegisterFile file, unsigned index) const;

 private:
  void add_registers(const Entry& entry);

  struct Line {
    std::uint32_t begun = 0, ended = 0;  // operations
  };

  std::array<std::array<Line, queue_count>, counter_count> lines_;
  std::vector<Operation> pending_;  // that will write registers, in the order in which they began
  RegisterGroups groups_ = 0;       // that they will write
  RegisterMask mask_;
};

}  // namespace rapt::sim
