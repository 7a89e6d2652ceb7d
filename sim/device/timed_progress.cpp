#include "sim/device/timed_progress.hpp"

#include "sim/machine/core/fault.hpp"
#include "sim/timing/recorder.hpp"

namespace rapt::sim {

void TimedProgress::check_recording(Group& group, const Workgroup& state, const timing::Recorder& recorder,
                                    std::uint64_t instructions) {
  constexpr std::uint64_t many_rounds = 1 << 16;  // instructions
  constexpr std::uint64_t gib = 1 << 30, most = 4;
  if (!waits_in_step_ && recorder.works(state) &&
      group.standstill.rounds(state, instructions, recorder.effects()) >= many_rounds)
    fail(
        "a workgroup goes round and round until another one stores something, in a loop that is not recognised as "
        "waiting");
  const std::uint64_t bytes = timing::bytes(recorder.trace());
  recorded_ += bytes - group.recorded;
  group.recorded = bytes;
  if (recorded_ > most * gib)
    fail("its workgroups have not ended although what they did takes " + std::to_string(most) + " GiB");
}

void TimedProgress::check_waits(Group& group, const Workgroup& state, const timing::Recorder* watcher,
                                std::uint64_t instructions, unsigned threads) {
  // Many times a turn: another thread's group may be in one.
  constexpr std::uint64_t most_idle = 1 << 25;
  const std::uint64_t effects = watcher ? watcher->effects() : 0;
  if (!watcher || watcher->works(state) || effects != group.effects) idle_ = 0;
  else if ((idle_ += instructions) > most_idle * threads) fail("all its workgroups that have not ended wait");
  group.effects = effects;
}

void TimedProgress::fail(const std::string& why) const {
  throw Fault(FaultKind::endless,
              kernel_ + " cannot be timed: " + why + "; without RAPT_SIM_TIME it runs to its end, if it has one");
}

}  // namespace rapt::sim
