#include "sim/device/workers.hpp"

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace rapt::sim {
namespace {

struct Job {
  const std::function<void()>* body;
  unsigned wanted;       // calls not yet begun
  unsigned running = 0;  // calls begun and not ended
  std::exception_ptr failure;
};

class Pool {
 public:
  explicit Pool(unsigned size) {
    for (unsigned n = 0; n < size; ++n) threads_.emplace_back([this] { serve(); });
  }

  void run(unsigned others, const std::function<void()>& body) {
    Job job{&body, others, 1, {}};
    {
      const std::lock_guard lock(mutex_);
      if (others > 0) jobs_.push_back(&job);
    }
    for (unsigned n = 0; n < others; ++n) work_.notify_one();
    call(job);
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);  // a worker that has not started by now would find nothing to do
    --job.running;
    done_.wait(lock, [&job] { return job.running == 0; });
    if (job.failure) std::rethrow_exception(job.failure);
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      work_.wait(lock, [this] { return !jobs_.empty(); });
      Job& job = *jobs_.front();
      if (--job.wanted == 0) jobs_.pop_front();
      ++job.running;
      lock.unlock();
      call(job);
      lock.lock();
      if (--job.running == 0) done_.notify_all();
    }
  }

  void call(Job& job) {
    try {
      (*job.body)();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!job.failure) job.failure = std::current_exception();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<Job*> jobs_;
  std::vector<std::thread> threads_;
};

}  // namespace

void run_parallel(unsigned threads, const std::function<void()>& body) {
  if (threads <= 1) {
    body();
    return;
  }
  // Never destroyed: at exit, the run-time library's threads may still wait here.
  static Pool* pool = new Pool(std::max(1U, std::thread::hardware_concurrency()));
  pool->run(threads - 1, body);
}

}  // namespace rapt::sim
