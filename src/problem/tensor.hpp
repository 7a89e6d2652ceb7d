// Checks and facts of one rapt_tensor: shape, strides, extent in memory, overlap with another.
#pragma once

#include <cstdint>
#include <string>

#include "problem/problem.hpp"
#include "rapt/rapt.h"

namespace rapt {

inline constexpr int32_t kMaxDims = 4;

// A tensor with its strides filled in and its bytes located; `name` is what errors call it.
struct Tensor {
  const char* name = "";
  char* data = nullptr;  // byte_offset added
  rapt_device device = {RAPT_CPU, 0};
  rapt_dtype dtype = {};
  int32_t ndim = 0;
  int64_t shape[kMaxDims] = {};
  int64_t stride[kMaxDims] = {};  // elements
  const char* first = nullptr;    // lowest byte, and one past the highest; equal where there are no elements
  const char* last = nullptr;

  int64_t bytes_per_element() const { return dtype.bits / 8; }
};

std::string dtype_text(rapt_dtype dtype);
std::string shape_text(const int64_t* shape, int32_t ndim);

// True if some byte belongs to both. Exact: tensors that interleave (slices of one packed buffer) do not overlap.
bool overlap(const Tensor& a, const Tensor& b);

// True if no two elements share memory, as an output needs.
bool elements_distinct(const Tensor& tensor);

}  // namespace rapt
