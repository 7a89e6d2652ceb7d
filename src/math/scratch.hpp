// Hands out pieces of a workspace, 64-byte aligned. Without a workspace it only counts, so that the bytes asked for
// and the bytes used come from the same code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rapt::math {

class Scratch {
 public:
  explicit Scratch(char* base) : base_(base) {}

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

// The pieces of one task; Pieces(call, scratch) takes them.
template <class Pieces, class Call>
size_t task_bytes(const Call& call) {
  Scratch scratch(nullptr);
  Pieces(call, scratch);
  return scratch.used();
}

template <class Pieces, class Call>
Pieces task_pieces(const Call& call, char* workspace, int64_t task) {
  Scratch scratch(workspace + static_cast<size_t>(task) * task_bytes<Pieces>(call));
  return Pieces(call, scratch);
}

}  // namespace rapt::math
