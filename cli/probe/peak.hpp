// Short samples of the machine's arithmetic peak and memory read rate, taken between the calls under test.
#pragma once

#include <string>
#include <vector>

#include "cli/inputs/array.hpp"
#include "cli/probe/loops.hpp"
#include "cli/probe/team.hpp"

namespace rapt::cli {

// bf16 is checked against the bf16 dot instruction where the machine has one; everything else against fp32
// multiply-adds.
class PeakProbe {
 public:
  PeakProbe(const Team& team, rapt_dtype dtype);
  PeakProbe(const Team& team, const PeakLoop& loop);
  double sample(double seconds);  // FLOP/s of the whole team

 private:
  const Team& team_;
  PeakLoop loop_;
  double rate_ = 0;  // iterations per second of one thread, from the last sample
};

struct Peak {
  std::string what;
  double flops;  // per second, of the whole team
};
// The peak of each type; for bf16 on AMX's tiles also with operands from L2.
std::vector<Peak> probed_peaks(const Team& team);

class ReadProbe {
 public:
  explicit ReadProbe(const Team& team);  // allocates four times the last-level cache
  double sample(double seconds);         // bytes per second of the whole team

 private:
  const Team& team_;
  Array memory_;
  int64_t at_ = 0;
  double rate_ = 0;
};

}  // namespace rapt::cli
