#include "engine/pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <mutex>

namespace rapt {

Pool::Pool(int32_t num_threads) {
  constexpr int32_t kMost = (1 << kParticipantBits) - 1;
  const int32_t cores = static_cast<int32_t>(std::max(std::thread::hardware_concurrency(), 1u));
  const int32_t threads = std::min(num_threads > 0 ? num_threads : cores, kMost);
  executor_ = {sizeof(rapt_executor), threads, this, [](void* context, int64_t count, rapt_task task, void* argument) {
                 static_cast<Pool*>(context)->parallel_for(count, task, argument);
               }};
  for (int32_t i = 0; i + 1 < threads; ++i) workers_.emplace_back([this, i] { work(static_cast<uint32_t>(i)); });
}

Pool::~Pool() {
  stop_ = true;
  epoch_.fetch_add(1u << kParticipantBits);
  epoch_.notify_all();
}

void Pool::draw() {
  for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) task_(argument_, i);
}

void Pool::work(uint32_t worker) {
  for (uint32_t seen = 0;;) {
    epoch_.wait(seen);
    seen = epoch_.load();
    if (stop_) return;
    if (worker >= seen % (1u << kParticipantBits)) continue;  // not one of the job's workers: it may already have ended
    draw();
    if (working_.fetch_sub(1) == 1) working_.notify_one();
  }
}

void Pool::parallel_for(int64_t count, rapt_task task, void* argument) {
  const uint32_t helpers = static_cast<uint32_t>(std::min<int64_t>(static_cast<int64_t>(workers_.size()), count - 1));
  if (count <= 1 || helpers == 0 || busy_.exchange(true)) {
    for (int64_t i = 0; i < count; ++i) task(argument, i);
    return;
  }
  task_ = task;
  argument_ = argument;
  count_ = count;
  next_ = 0;
  working_ = helpers;
  const uint32_t job = (epoch_.load() >> kParticipantBits) + 1;
  epoch_ = job << kParticipantBits | helpers;
  epoch_.notify_all();
  draw();
  for (uint32_t left; (left = working_.load()) != 0;) working_.wait(left);
  busy_ = false;
}

namespace {

std::atomic<Pool*> g_default_pool{nullptr};
std::mutex g_default_pool_mutex;

}  // namespace

const rapt_executor& default_executor() {
  if (Pool* pool = g_default_pool.load(std::memory_order_acquire)) return pool->executor();
  const std::lock_guard lock(g_default_pool_mutex);
  if (!g_default_pool) {
    // A forked child has none of the threads: it drops the parent's pool and creates its own.
    static const int once = pthread_atfork(nullptr, nullptr, [] { g_default_pool = nullptr; });
    static_cast<void>(once);
    g_default_pool = new Pool(0);  // never destroyed: calls may come from destructors that run at exit
  }
  return g_default_pool.load()->executor();
}

}  // namespace rapt
