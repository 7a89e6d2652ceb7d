// The threads of a benchmark: the calls under test and the probes run on the same ones.
#pragma once

#include <functional>

#include "rapt/rapt.hpp"

namespace rapt::cli {

class Team {
 public:
  explicit Team(int num_threads);  // 0: one per core. A team of one pins the calling thread to its core
  int size() const { return executor()->concurrency; }
  const rapt_executor* executor() const { return pool_.executor(); }
  void run(int64_t count, const std::function<void(int64_t)>& task) const;

 private:
  Pool pool_;
};

double seconds_now();

}  // namespace rapt::cli
