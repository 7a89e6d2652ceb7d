// Random choices that depend on one number alone.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>

namespace test {

class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15u) {}
  int64_t up_to(int64_t most) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(most + 1)); }
  int64_t between(int64_t least, int64_t most) { return least + up_to(most - least); }
  bool one_in(int64_t n) { return up_to(n - 1) == 0; }
  template <class T>
  T of(std::initializer_list<T> all) {
    return all.begin()[up_to(static_cast<int64_t>(all.size()) - 1)];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace test
