#include "cli/probe/team.hpp"

#include <sched.h>

#include <chrono>

namespace rapt::cli {

Team::Team(int num_threads) : pool_(num_threads) {
  if (size() != 1) return;
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  sched_setaffinity(0, sizeof here, &here);  // if refused, results only vary more
}

void Team::run(int64_t count, const std::function<void(int64_t)>& task) const {
  if (size() == 1) {
    for (int64_t i = 0; i < count; ++i) task(i);
    return;
  }
  const auto call = [](void* argument, int64_t index) {
    (*static_cast<const std::function<void(int64_t)>*>(argument))(index);
  };
  executor()->parallel_for(executor()->context, count, call, const_cast<std::function<void(int64_t)>*>(&task));
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace rapt::cli
