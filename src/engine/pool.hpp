// The built-in executor: a fixed set of threads that wait on an atomic. A pool that is in use (by another caller, or
// further up this caller's stack) does not block: the second caller runs its tasks itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "rapt/rapt.h"

namespace rapt {

class Pool {
 public:
  explicit Pool(int32_t num_threads);  // the caller of parallel_for is one of them
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const rapt_executor& executor() const { return executor_; }

 private:
  void parallel_for(int64_t count, rapt_task task, void* argument);
  void work(uint32_t worker);
  void draw();  // runs tasks of the current job until none is left

  // One 32-bit word wakes the workers: the job's number, and how many workers take part.
  static constexpr uint32_t kParticipantBits = 12;
  std::atomic<uint32_t> epoch_{0};
  std::atomic<uint32_t> working_{0};
  std::atomic<bool> busy_{false}, stop_{false};
  std::atomic<int64_t> next_{0};
  int64_t count_ = 0;
  rapt_task task_ = nullptr;
  void* argument_ = nullptr;
  std::vector<std::jthread> workers_;
  rapt_executor executor_;
};

// Shared by all calls without an executor; created on first use, with one thread per core.
const rapt_executor& default_executor();

}  // namespace rapt
