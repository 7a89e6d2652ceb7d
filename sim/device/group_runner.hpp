// One workgroup on the host: its memory, and turns for its waves.
#pragma once

#include "sim/check/checks.hpp"
#include "sim/device/launch_setup.hpp"

#include <random>

namespace rapt::sim {

class Profile;
class Program;
class Trace;
namespace timing {
class Recorder;
}

class GroupRunner {
 public:
  // What watches the groups: shared by the launch's runners, or only this one's; null if there is none.
  struct Watchers {
    RaceLaunch* races = nullptr;
    Profile* profile = nullptr;
    Trace* trace = nullptr;
  };
  // scratch_offset: where this runner's waves have their private memory.
  GroupRunner(const LaunchSetup& setup, const Program& program, std::uint64_t scratch_base,
              std::uint64_t scratch_offset, Watchers watchers);

  void begin(std::array<std::uint32_t, 3> id, std::uint64_t seed, timing::Recorder* recorder = nullptr);
  // Runs waves until the group ends or about `budget` instructions are spent; true once it has ended. Throws Fault,
  // also if no wave can continue or one exceeds `wave_limit` instructions.
  bool advance(std::uint64_t budget, std::uint64_t wave_limit);

  const Workgroup& group() const { return group_; }
  std::uint64_t instructions() const;
  // By the clock model: of the longest wave, and of each pipe for all waves.
  std::uint64_t longest_wave() const;
  std::array<std::uint64_t, pipe_count> clocks() const;

 private:
  bool turn(Wave& wave, std::uint64_t quantum, std::uint64_t wave_limit, std::uint64_t& spent);

  const LaunchSetup& setup_;
  std::uint64_t scratch_base_, scratch_offset_;
  Watchers watchers_;
  std::vector<std::uint32_t> registers_;
  Workgroup group_;
  std::unique_ptr<Checks> checks_;
  std::size_t next_ = 0;  // whose turn it is
  bool random_order_ = false;
  std::mt19937_64 random_;
};

}  // namespace rapt::sim
