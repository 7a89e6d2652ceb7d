#include "openmp.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>

namespace rapt::python {

namespace {

// The function of GNU's OpenMP, which LLVM's and Intel's have too, for programs that GCC compiled. It runs `function`
// on each thread of a team.
using Parallel = void (*)(void (*function)(void*), void* argument, unsigned threads, unsigned flags);

Parallel parallel() {
  static const auto found = reinterpret_cast<Parallel>(dlsym(RTLD_DEFAULT, "GOMP_parallel"));
  return found;
}

// A forked child has none of its parent's threads, and GNU's run-time would wait for them.
const pid_t g_process = getpid();

struct Job {
  std::atomic<int64_t> next;
  int64_t count;
  rapt_task task;
  void* argument;
};

void draw(void* context) {
  Job& job = *static_cast<Job*>(context);
  for (int64_t i; (i = job.next.fetch_add(1, std::memory_order_relaxed)) < job.count;) job.task(job.argument, i);
}

void parallel_for(void* context, int64_t count, rapt_task task, void* argument) {
  Job job = {0, count, task, argument};
  const auto threads = std::min<int64_t>(static_cast<rapt_executor*>(context)->concurrency, count);
  if (threads > 0) parallel()(draw, &job, static_cast<unsigned>(threads), 0);
}

}  // namespace

const rapt_executor* openmp_executor(int32_t threads) {
  if (parallel() == nullptr || getpid() != g_process) return nullptr;
  static auto* executors = new std::map<int32_t, rapt_executor>;  // under the GIL; calls may come at exit
  const auto [found, made] = executors->try_emplace(threads);
  if (made) found->second = {sizeof(rapt_executor), threads, &found->second, parallel_for};
  return &found->second;
}

}  // namespace rapt::python
