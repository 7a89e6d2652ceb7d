// The results that a wave's next instruction may have to wait for: what CDNA and RDNA do differently.
#pragma once

#include "sim/timing/memory_path.hpp"
#include "sim/timing/stalls.hpp"

#include <memory>

namespace rapt::sim::timing {

class Results {
 public:
  struct Wait {
    Clock until = 0;  // not after now: there is nothing to wait for
    Stall reason = Stall::issue;
  };

  virtual ~Results() = default;
  virtual Wait wait(const Step& step, Clock now) = 0;
  virtual void issued(const Step& step, Clock now) = 0;
};

std::unique_ptr<Results> cdna_results(const Chip& chip);
std::unique_ptr<Results> rdna_results(const Chip& chip);

}  // namespace rapt::sim::timing
