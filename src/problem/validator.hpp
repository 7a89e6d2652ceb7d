// The vocabulary of validation: reading tensors, and comparing them with what is allowed.
#pragma once

#include <optional>
#include <string>

#include "base/versioned.hpp"
#include "problem/call.hpp"
#include "problem/tensor.hpp"

namespace rapt {

inline constexpr int64_t kAnySize = -1;

class Validator {
 public:
  // The tensor, which lives as long as this, or null with a violation noted. Its dtype and shape are compared
  // separately. Every tensor is on the call's device; the small index tensors may be in host memory too.
  enum class Place { call_device, call_device_or_host };
  const Tensor* tensor(const char* name, const rapt_tensor* given, int32_t ndim_min, int32_t ndim_max,
                       Place place = Place::call_device);

  // `expected` may hold kAnySize; `meaning` says it in words, such as "[batch, seqlen_k, heads_k, head_dim]".
  bool shape(const Tensor& t, std::initializer_list<int64_t> expected, const char* meaning);
  bool dtype(const Tensor& t, std::initializer_list<rapt_dtype> allowed);
  void contiguous_rows(const Tensor& t);  // the last dimension has stride 1
  // An output: its elements are distinct, and nothing else overlaps it, except another output if it may.
  void written(const Tensor& t, const Tensor* may_overlap = nullptr);
  void read(const Tensor& t);
  void aliasing();  // compares all that written() and read() collected

  Violations bad;
  std::optional<rapt_device> call_device;

 private:
  void device(const Tensor& t, Place place);

  static constexpr int32_t kMaxTensors = 24;  // more than a call has
  Tensor tensors_[kMaxTensors];
  const Tensor *outputs_[kMaxTensors], *may_overlap_[kMaxTensors], *inputs_[kMaxTensors];
  int32_t tensor_count_ = 0, output_count_ = 0, input_count_ = 0;
};

}  // namespace rapt
