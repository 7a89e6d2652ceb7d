// Checks and properties of one rapt_tensor: shape, strides, extent in memory, overlap with another.
#pragma once

#include <cstdint>
#include <string>

#include "problem/problem.hpp"
#include "rapt/rapt.h"

namespace rapt {

inline constexpr int32_t kMaxDims = 4;

// A tensor with strides and byte range filled in. Not initialised but set by Validator::tensor(): clearing the
// Validator's array of tensors would take longer than the checks of a call.
struct Tensor {
  const char* name;  // in errors
  char* data;        // byte_offset added
  rapt_device device;
  rapt_dtype dtype;
  int32_t ndim;
  int64_t shape[kMaxDims];   // the first ndim are set
  int64_t stride[kMaxDims];  // elements
  const char* first;         // lowest byte, and one past the highest; equal if there are no elements
  const char* last;

  int64_t bytes_per_element() const { return dtype.bits / 8; }
  bool has_elements() const { return first != last; }
};

std::string dtype_text(rapt_dtype dtype);
std::string shape_text(const int64_t* shape, int32_t ndim);

// True if a byte belongs to both. Exact: tensors that interleave (slices of one packed buffer) do not overlap.
bool overlap(const Tensor& a, const Tensor& b);

// True if no two elements share memory, as an output needs.
bool elements_distinct(const Tensor& tensor);

}  // namespace rapt
