// Numbers by which tasks tell each other what is done. A task that reads a number sees all that was written before it.
// Not std::atomic: the tiers may share no function with other objects (docs/architecture.md).
#pragma once

#include <sched.h>

#include <cstdint>

namespace rapt::cpu::RAPT_TIER {

inline bool announced(const int32_t* number, int64_t least) {
  return __atomic_load_n(number, __ATOMIC_ACQUIRE) >= least;
}
inline void announce(int32_t* number, int64_t value) {
  __atomic_store_n(number, static_cast<int32_t>(value), __ATOMIC_RELEASE);
}
// Waits until the number is at least `least`. The task that announces it must have begun: tasks may run one by one.
inline void await(const int32_t* number, int64_t least) {
  while (!announced(number, least)) sched_yield();
}
// Takes the next number below `end`, each of them once; -1 if none is left.
inline int64_t take(int32_t* next, int64_t end) {
  int32_t number = __atomic_load_n(next, __ATOMIC_RELAXED);
  while (number < end)
    if (__atomic_compare_exchange_n(next, &number, number + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return number;
  return -1;
}
// True for the second of two callers.
inline bool comes_second(int32_t* number) { return __atomic_exchange_n(number, 1, __ATOMIC_ACQ_REL) != 0; }

}  // namespace rapt::cpu::RAPT_TIER
