// Records a workgroup's waves while the machine runs them.
#pragma once

#include "sim/machine/core/observer.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim {
class Workgroup;
}

namespace rapt::sim::timing {

class Recorder final : public Observer {
 public:
  // Of each wave, the first `most` instructions.
  Recorder(unsigned line_bytes, std::uint64_t most);

  void begin_group(const Workgroup& group, std::uint64_t number);
  GroupTrace end_group();
  // Whether each wave has ended or is recorded as far as it may be.
  bool full(const Workgroup& group) const;
  // Whether a wave has repeated the same loads many times: it waits for another wave.
  bool waits() const;

  void before(Wave& wave, const Entry& entry) override;
  void after(Wave& wave, const Entry& entry) override;
  void skipped(const Wave& wave, const Entry& entry) override;
  void access(Wave& wave, const Instruction& instruction, const Access& access) override;

 private:
  // The loop that a wave is in: a wave that waits for another one repeats the same loads. How often depends on the
  // host's threads, so only its first rounds and the last one are kept.
  struct Loop {
    std::uint32_t head = 0;
    std::size_t slots = 0, requests = 0, lines = 0;  // recorded when this round began
    std::uint64_t signature = 0, previous = 0;       // of this round's instructions and addresses, and of the last
    bool loads = false, works = false;               // this round loads; it also does what no waiting loop does
    std::uint64_t repeated = 0;                      // rounds like the previous one
  };
  void end_round(WaveTrace& trace, Loop& loop, std::uint32_t head);

  unsigned line_shift_;
  std::uint64_t most_;
  GroupTrace trace_;
  std::vector<Loop> loops_;  // by wave
  bool recording_ = false;   // the instruction that runs
  Request request_;
};

}  // namespace rapt::sim::timing
