// Checks and facts of one rapt_tensor: shape, strides, extent in memory, overlap with another.
#pragma once

#include <cstdint>
#include <string>

#include "problem/problem.hpp"
#include "rapt/rapt.h"

namespace rapt {

inline constexpr int32_t kMaxDims = 4;

// A tensor with its strides filled in and its bytes located. Validator::tensor() sets it: clearing the Validator's room
// for tensors would take longer than the checks of a call.
struct Tensor {
  const char* name;  // what errors call it
  char* data;        // byte_offset added
  rapt_device device;
  rapt_dtype dtype;
  int32_t ndim;
  int64_t shape[kMaxDims];   // the first ndim of them
  int64_t stride[kMaxDims];  // elements
  const char* first;         // lowest byte, and one past the highest; equal where there are no elements
  const char* last;

  int64_t bytes_per_element() const { return dtype.bits / 8; }
};

std::string dtype_text(rapt_dtype dtype);
std::string shape_text(const int64_t* shape, int32_t ndim);

// True if some byte belongs to both. Exact: tensors that interleave (slices of one packed buffer) do not overlap.
bool overlap(const Tensor& a, const Tensor& b);

// True if no two elements share memory, as an output needs.
bool elements_distinct(const Tensor& tensor);

}  // namespace rapt
