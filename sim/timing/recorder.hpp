// Records a workgroup's waves while the machine runs them.
#pragma once

#include "sim/machine/core/observer.hpp"
#include "sim/machine/core/program.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim {
class Workgroup;
}

namespace rapt::sim::timing {

inline constexpr std::uint64_t all_instructions = ~std::uint64_t{0};

// How much of each wave is recorded.
struct Extent {
  std::uint64_t most = all_instructions;  // instructions that are recorded
  std::uint64_t kept = all_instructions;  // the first ones, which the trace keeps; later ones only count
};

// Keeps the wave's first `slots` instructions and their requests.
void cut(WaveTrace& trace, std::size_t slots, const Program& program);

class Recorder final : public Observer {
 public:
  // resident_groups: the number that the device holds at once. A later group has the private memory of an ended one.
  Recorder(unsigned line_bytes, Extent extent, std::uint64_t resident_groups);

  void begin_group(const Workgroup& group, std::uint64_t number);
  GroupTrace end_group();
  // Whether each wave has ended or is recorded as far as it may be.
  bool full(const Workgroup& group) const;
  const GroupTrace& trace() const { return trace_; }  // so far

  void before(Wave& wave, const Entry& entry) override;
  void after(Wave& wave, const Entry& entry) override;
  void skipped(const Wave& wave, const Entry& entry) override;
  void access(Wave& wave, const Instruction& instruction, const Access& access) override;

 private:
  std::vector<std::uint64_t> private_addresses(const Wave& wave, const Access& access) const;

  unsigned line_shift_;
  Extent extent_;
  std::uint64_t resident_groups_;
  GroupTrace trace_;
  const Program* program_ = nullptr;
  bool recording_ = false, keeping_ = false;  // the instruction that runs
  Request request_;
};

}  // namespace rapt::sim::timing
