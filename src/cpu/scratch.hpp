// Hands out aligned pieces of a workspace. Run once on null to learn the size, once on memory to use it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/vec.hpp"

namespace rapt::cpu::RAPT_TIER {

class Carver {
 public:
  explicit Carver(char* base) : base_(base) {}

  template <class T>
  T* take(int64_t count) {
    T* piece = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  size_t used() const { return used_; }

 private:
  char* base_;
  size_t used_ = 0;
};

}  // namespace rapt::cpu::RAPT_TIER
