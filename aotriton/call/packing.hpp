// Padded and strided sequences as packed ones, which Rapt has: copies of a call's tensors.
#pragma once

#include <initializer_list>

#include "aotriton/call/memory.hpp"
#include "aotriton/device/arguments.h"

namespace rapt::aot {

enum class Side { q, k };  // whose lengths a tensor has

class Packing {
 public:
  Packing(const Call& call, const Device& device) : call_(call), device_(device), scratch_(device, call.stream) {}

  bool needed() const { return call_.padded() || call_.strided(); }

  // Checks what the copies need that Rapt does not see, and takes the memory of all of them, before the first.
  struct Named {
    const char* name;
    const T4* tensor;
  };
  Error reserve(std::initializer_list<Named> tensors);
  // `tensor` becomes memory for packed rows; `filled`: with those that it had.
  Error pack(T4& tensor, Side side, bool filled);
  // Copies the rows of `packed` to where those of `tensor` are.
  Error unpack(const T4& packed, const T4& tensor, Side side) const;

 private:
  Error check_lengths() const;
  Error check(const Named& named) const;
  size_t bytes_of_copy(const T4& tensor) const;
  rapt_aot_rows rows_of(const T4& tensor, Side side) const;
  rapt_aot_rows packed_rows_of(const T4& packed, Side side) const;
  Error copy(const T4& like, Side side, const rapt_aot_rows& from, const rapt_aot_rows& to) const;

  const Call& call_;
  const Device& device_;
  Scratch scratch_;
  size_t used_ = 0;
};

}  // namespace rapt::aot
