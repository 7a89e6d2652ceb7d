// Work items on an executor: at most `concurrency` tasks take items from one counter, so a task's index identifies its
// scratch memory. Items must not depend on the task that runs them. An item may wait for an earlier item, because a
// task has already begun it, and for work that a running task does without waiting.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "rapt/rapt.h"

namespace rapt {

// With this many threads, one is always slow or late: the last items should be handed out in pieces.
inline constexpr int32_t kManyThreads = 8;

inline int64_t task_count(const rapt_executor& executor, int64_t items) {
  return std::min<int64_t>(items, std::max(executor.concurrency, 1));
}

// Calls body(task, item) for every item in [0, items); items start in ascending order.
template <class Body>
void parallel_items(const rapt_executor& executor, int64_t items, const Body& body) {
  if (task_count(executor, items) <= 1) {
    for (int64_t item = 0; item < items; ++item) body(int64_t{0}, item);
    return;
  }
  struct Shared {
    const Body& body;
    int64_t items;
    std::atomic<int64_t> next{0};
  } shared{body, items};
  executor.parallel_for(
      executor.context, task_count(executor, items),
      [](void* argument, int64_t task) {
        auto& s = *static_cast<Shared*>(argument);
        for (int64_t item; (item = s.next.fetch_add(1, std::memory_order_relaxed)) < s.items;) s.body(task, item);
      },
      &shared);
}

}  // namespace rapt
