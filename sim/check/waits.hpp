// The memory operations of one wave that have not ended for certain, and the registers that they are to write.
#pragma once

#include "sim/check/register_mask.hpp"
#include "sim/check/waits_facts.hpp"
#include "sim/machine/program.hpp"

#include <memory>

namespace rapt::sim {

class OutstandingOperations {
 public:
  // One operation: its place in the queue of each counter that it raised; 0 for those that it did not.
  struct Operation {
    const Entry* entry = nullptr;
    std::array<std::uint32_t, counter_count> place{};
  };

  OutstandingOperations() : pending_(new Operation[RegisterMask::size]) {}

  void wait(const WaitFacts& facts);
  Operation begin(const Entry& entry);
  bool ended(const Operation& operation) const;
  // The counter that must still fall; the operation has not ended.
  Counter open_counter(const Operation& operation) const;

  // Whether any register of the access may be written by an operation that has not ended.
  bool touches(const RegisterAccess& access) const { return mask_.touches(access); }
  bool none() const { return none_; }
  // The operation that is to write register n of an access, or none.
  const Operation* writer(const RegisterAccess& access, unsigned n);

 private:
  struct Line {
    std::uint32_t begun = 0, ended = 0;  // operations
  };

  std::array<std::array<Line, queue_count>, counter_count> lines_;
  RegisterMask mask_;
  bool none_ = true;                      // all have ended
  std::unique_ptr<Operation[]> pending_;  // by register, where the mask says so
};

}  // namespace rapt::sim
