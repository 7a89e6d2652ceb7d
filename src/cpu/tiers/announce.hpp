// Numbers by which tasks tell each other what is done. Whoever reads one sees what was written before it was announced.
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
// Whoever will announce it must have begun: tasks need not run at the same time.
inline void await(const int32_t* number, int64_t least) {
  while (!announced(number, least)) sched_yield();
}
// The next number below `end`, or -1: each is taken once.
inline int64_t take(int32_t* next, int64_t end) {
  int32_t number = __atomic_load_n(next, __ATOMIC_RELAXED);
  while (number < end)
    if (__atomic_compare_exchange_n(next, &number, number + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return number;
  return -1;
}
// Of two that come here, is this the second?
inline bool comes_second(int32_t* number) { return __atomic_exchange_n(number, 1, __ATOMIC_ACQ_REL) != 0; }

}  // namespace rapt::cpu::RAPT_TIER
