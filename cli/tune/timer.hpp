// Times one problem's calls on a GPU, each on tensors that no cache holds.
#pragma once

#include <memory>
#include <string>

#include "rapt/rapt.hpp"

namespace rapt::cli {

class WayTimer {
 public:
  // Places the problem's tensors on the device, several times if all fit in its caches.
  WayTimer(const Problem& problem, rapt_op op, rapt_device device, uint64_t seed);
  ~WayTimer();

  // Seconds of one call with this backend, by the device's events around enough calls to take 200 us. On the simulator
  // it is the forecast of one call. Throws Error if the call fails.
  double sample(const std::string& backend);

 private:
  struct Placed;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rapt::cli
