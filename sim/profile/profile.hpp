// The counters of one host thread's workgroups, which run one after the other or in turns, and of their launch.
#pragma once

#include "sim/machine/core/observer.hpp"
#include "sim/machine/core/program.hpp"
#include "sim/profile/counts.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace rapt::sim {

// The 64-byte sectors that a launch touched: a mask for each 4 KiB page.
class Footprint {
 public:
  void touch(std::uint64_t address, unsigned bytes);
  void merge(const Footprint& other);
  std::uint64_t bytes() const;

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> pages_;
};

// Those of a whole launch. Sums do not depend on the order of workgroups.
struct LaunchCounts {
  static constexpr std::uint64_t kept_waves = 64;  // the first of the grid: their counters are kept one by one

  std::vector<SlotCounts> slots;  // one per dword of the text
  std::vector<WaveCounts> waves;
  Footprint footprint;
  std::uint64_t wave_count = 0, instructions = 0, cycles = 0;  // of the waves that ended
  WaveCounts longest;                                          // by cycles; the first of the grid where several are
  std::mutex mutex;
};

class Profile final : public Observer {
 public:
  // groups: the size of the launch's grid in x and y, to number workgroups. The destructor adds the counts to `launch`.
  Profile(const Program& program, std::array<std::uint32_t, 2> groups, LaunchCounts& launch);
  ~Profile() override;
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  void begin_group(const Workgroup& group);
  void before(Wave&, const Entry& entry) override { current_ = entry.slot; }
  void after(Wave& wave, const Entry& entry) override {
    SlotCounts& slot = slots_[entry.slot];
    ++slot.executed;
    slot.taken += wave.pc != base_ + 4 * std::uint64_t{entry.slot} + entry.instruction.size;
    ++waves_[wave.index].totals.classes[static_cast<unsigned>(classify(entry.effects))];
  }
  void skipped(const Wave&, const Entry& entry) override {
    ++slots_[entry.slot].executed;
    ++slots_[entry.slot].skipped;
  }
  void access(Wave& wave, const Instruction& instruction, const Access& access) override;
  void end_group(const Workgroup& group);

 private:
  std::uint64_t base_;
  std::array<std::uint32_t, 2> groups_;
  LaunchCounts& launch_;
  std::vector<SlotCounts> slots_;
  std::vector<WaveCounts> waves_;  // of the group that runs
  LaunchCounts own_;               // all but the slots
  std::uint32_t current_ = 0;
};

}  // namespace rapt::sim
