// What may watch a workgroup while it runs: the sanitizer, the profile, the trace.
#pragma once

#include "sim/machine/core/access.hpp"

namespace rapt::sim {

struct Entry;
struct Instruction;
struct Wave;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(Wave&, const Entry&) {}
  virtual void after(Wave&, const Entry&) {}
  // Instead of both, if MODE.vskip skips the instruction.
  virtual void skipped(const Wave&, const Entry&) {}
  // During the instruction, before memory is touched; once for each of its accesses.
  virtual void access(Wave&, const Instruction&, const Access&) {}
};

}  // namespace rapt::sim
