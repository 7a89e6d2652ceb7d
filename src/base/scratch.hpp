// Hands out pieces of a workspace, 64-byte aligned. Without a workspace it only counts, so that the same code computes
// the workspace's size and divides it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rapt {

class Scratch {
 public:
  explicit Scratch(char* base) : base_(base) {}

  // Always inlined: the cpu tiers may share no function with other objects (docs/architecture.md).
  template <class T>
  __attribute__((always_inline)) T* take(int64_t count) {
    T* piece = base_ ? reinterpret_cast<T*>(base_ + used_) : nullptr;
    used_ += (static_cast<size_t>(count) * sizeof(T) + 63) / 64 * 64;
    return piece;
  }
  size_t used() const { return used_; }

 private:
  char* base_;
  size_t used_ = 0;
};

}  // namespace rapt
