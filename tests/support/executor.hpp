// A caller's executor: as many threads as its concurrency, started for each call.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "support/inputs.hpp"

namespace test {

class Threads {
 public:
  explicit Threads(int32_t concurrency) : executor_(init<rapt_executor>()) {
    executor_.concurrency = concurrency;
    executor_.context = this;
    executor_.parallel_for = [](void* self, int64_t count, rapt_task task, void* argument) {
      static_cast<Threads*>(self)->run(count, task, argument);
    };
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  const rapt_executor* c() const { return &executor_; }
  int64_t most_tasks() const { return most_tasks_; }  // the largest count that a call requested

 private:
  void run(int64_t count, rapt_task task, void* argument) {
    for (int64_t seen = most_tasks_; count > seen && !most_tasks_.compare_exchange_weak(seen, count);) {
    }
    std::vector<std::thread> threads;
    // Last task first: nothing may depend on the order.
    for (int64_t i = count - 1; i > 0; --i) threads.emplace_back([=] { task(argument, i); });
    if (count > 0) task(argument, 0);
    for (std::thread& thread : threads) thread.join();
  }

  rapt_executor executor_;
  std::atomic<int64_t> most_tasks_{0};
};

}  // namespace test
