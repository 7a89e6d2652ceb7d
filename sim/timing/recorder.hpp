// Records a workgroup's waves while the machine runs them.
#pragma once

#include "sim/machine/core/observer.hpp"
#include "sim/timing/trace.hpp"
#include "sim/timing/wait_loop.hpp"

#include <map>

namespace rapt::sim {
class Workgroup;
}

namespace rapt::sim::timing {

// Of a group's waves.
struct Extent {
  std::uint64_t most = ~std::uint64_t{0};  // instructions that are recorded
  std::uint64_t kept = ~std::uint64_t{0};  // of these, the first ones, which the trace keeps; the others only count
};

// Keeps the wave's first `slots` instructions and their requests.
void cut(WaveTrace& trace, std::size_t slots, const Program& program);

class Recorder final : public Observer {
 public:
  // resident_groups: that the device holds at once; others have the private memory of one that has ended.
  Recorder(unsigned line_bytes, Extent extent, std::uint64_t resident_groups);

  void begin_group(const Workgroup& group, std::uint64_t number);
  GroupTrace end_group();
  // Whether each wave has ended or is recorded as far as it may be.
  bool full(const Workgroup& group) const;
  // Whether a wave has waited for another one for many rounds of a loop.
  bool waits() const;
  // Whether a wave runs that is in no loop which is known to wait.
  bool works(const Workgroup& group) const;
  // How often the group has changed memory or looked at a clock.
  std::uint64_t effects() const { return effects_; }
  const GroupTrace& trace() const { return trace_; }  // so far

  void before(Wave& wave, const Entry& entry) override;
  void after(Wave& wave, const Entry& entry) override;
  void skipped(const Wave& wave, const Entry& entry) override;
  void access(Wave& wave, const Instruction& instruction, const Access& access) override;

 private:
  static constexpr std::uint32_t no_slot = ~std::uint32_t{0};
  // A memory instruction's request, and its lines.
  struct Look {
    std::uint32_t slot = 0;
    Request request;
    std::vector<std::uint64_t> lines;
  };
  // The loop in which a wave waits for another one. How often it goes round, and whether it goes round at all, depends
  // on the host's threads: so the last round is kept, with the requests of the first, when no lane had left yet.
  struct Wait {
    CodeLoop loop;
    bool inside = false;
    std::size_t begin = 0;  // of the round, in WaveTrace::slots
    std::uint64_t rounds = 0;
    std::vector<Look> looks;
    std::uint32_t last = 0;               // the wave's last instruction, recorded or not
    std::uint32_t not_back_to = no_slot;  // where that may branch to
  };

  const Entry& entry_at(std::uint32_t slot) const;
  const CodeLoop* wait_loop(CodeLoop round);  // in which the wave went round; null if that does not wait
  void follow(WaveTrace& trace, Wait& wait, const Entry& entry);
  bool enter(const WaveTrace& trace, Wait& wait, CodeLoop loop) const;  // false if its head was not recorded
  void leave(WaveTrace& trace, Wait& wait, std::uint32_t to);
  std::vector<std::uint64_t> private_addresses(const Wave& wave, const Access& access) const;
  void repeat_first_look(WaveTrace& trace, Wait& wait, std::uint32_t slot);

  unsigned line_shift_;
  Extent extent_;
  std::uint64_t resident_groups_;
  GroupTrace trace_;
  const Program* program_ = nullptr;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::optional<CodeLoop>> loops_;  // by head and latch of a round
  std::vector<Wait> waits_;                                                           // by wave
  std::uint64_t effects_ = 0;
  bool recording_ = false, keeping_ = false;  // the instruction that runs
  Request request_;
};

}  // namespace rapt::sim::timing
