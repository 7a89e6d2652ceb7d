// The process's threads that run workgroups.
#pragma once

#include <functional>

namespace rapt::sim {

// Calls body() on the calling thread and on up to `threads - 1` others at the same time; returns when all calls have
// returned. An exception of one call is rethrown here once all have ended.
void run_parallel(unsigned threads, const std::function<void()>& body);

}  // namespace rapt::sim
