// Ends timed launches that have no time, or no end.
#pragma once

#include "sim/device/standstill.hpp"

#include <atomic>
#include <string>

namespace rapt::sim {

namespace timing {
class Recorder;
}

class TimedProgress {
 public:
  // What is known of one group.
  struct Group {
    Standstill standstill;
    std::uint64_t recorded = 0, effects = 0;  // bytes, and their number, when it was looked at last
  };

  // waits_in_step: a wait takes as many turns of a group as those for which it waits need.
  TimedProgress(std::string kernel, bool waits_in_step) : kernel_(std::move(kernel)), waits_in_step_(waits_in_step) {}

  // Throws Fault if the launch can have no forecast: a group that waits in a loop that is not known to wait is recorded
  // for as long as the host lets it wait, and for ever if none of a sample ends its wait.
  void check_recording(Group& group, const Workgroup& state, const timing::Recorder& recorder,
                       std::uint64_t instructions);
  // After so many instructions of one of `threads` host threads. Throws Fault if no group has done anything but wait
  // for long. watcher: null if nobody knows what the group did.
  void check_waits(Group& group, const Workgroup& state, const timing::Recorder* watcher, std::uint64_t instructions,
                   unsigned threads);

  void goes_on() { idle_ = 0; }  // a group ended
  // The group's recording has ended, and takes so many bytes from now on.
  void keep(const Group& group, std::uint64_t bytes) { recorded_ += bytes - group.recorded; }

 private:
  [[noreturn]] void fail(const std::string& why) const;

  std::string kernel_;
  bool waits_in_step_;
  std::atomic<std::uint64_t> recorded_{0};  // bytes of all groups' traces
  std::atomic<std::uint64_t> idle_{0};      // since a group did something
};

}  // namespace rapt::sim
