// Copies a call's tensors so that padded and strided sequences are packed, as Rapt takes them.
#pragma once

#include <initializer_list>

#include "aotriton/call/memory.hpp"
#include "aotriton/device/arguments.h"

namespace rapt::aot {

enum class Side { q, k };  // the sequence lengths that a tensor has

class Packing {
 public:
  Packing(const Call& call, const Device& device) : call_(call), device_(device), scratch_(device, call.stream) {}

  bool needed() const { return call_.padded() || call_.strided(); }

  // Checks everything that only the copies need, and takes the memory of all copies before the first one.
  struct Named {
    const char* name;
    const T4* tensor;
  };
  Error reserve(std::initializer_list<Named> tensors);
  // `tensor` becomes memory for packed rows, with copies of its rows if `filled`.
  Error pack(T4& tensor, Side side, bool filled);
  // Copies the rows of `packed` to the places of the rows of `tensor`.
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

// The sums of k's single lengths, in memory of the stream.
class KeySums {
 public:
  KeySums(const Device& device, HipStream stream) : device_(device), scratch_(device, stream) {}

  Error replace_lengths(Call& call);  // of call.cu_seqlens_k

 private:
  const Device& device_;
  Scratch scratch_;
};

}  // namespace rapt::aot
