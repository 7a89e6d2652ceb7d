#include "problem/validator.hpp"

namespace rapt {

const Tensor* Validator::tensor(const char* name, const rapt_tensor* given, int32_t ndim_min, int32_t ndim_max,
                                Place place) {
  const auto refuse = [&](const auto&... why) {
    bad.add(cat(name, why...));
    return nullptr;
  };
  if (given == nullptr) return refuse(" is null");
  if (tensor_count_ == kMaxTensors) throw Error(RAPT_INTERNAL_ERROR, cat(name, " is one tensor more than a call has"));
  Tensor& t = tensors_[tensor_count_];
  t.name = name;
  t.device = given->device;
  t.dtype = given->dtype;
  t.ndim = given->ndim;
  if (t.ndim < ndim_min || t.ndim > ndim_max)
    return refuse(" has ", t.ndim, " dimensions, must have ", ndim_min,
                  ndim_max > ndim_min ? cat(" or ", ndim_max) : "");
  if (given->shape == nullptr) return refuse(".shape is null");
  if (t.dtype.lanes != 1 || t.dtype.bits % 8 != 0 || t.dtype.bits == 0)
    return refuse(" has ", dtype_text(t.dtype), ", which Rapt does not read");
  bool empty = false, overflow = false;
  int64_t compact = 1, low = 0, high = 0;  // in elements, and after the loop in bytes
  for (int32_t i = t.ndim - 1; i >= 0; --i) {
    const int64_t size = t.shape[i] = given->shape[i];
    if (size < 0) return refuse(" has shape ", shape_text(given->shape, t.ndim), ", no size may be negative");
    t.stride[i] = given->strides ? given->strides[i] : compact;
    empty |= size == 0;
    if (size <= 1) continue;
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(compact, size, &compact);
    overflow |= __builtin_mul_overflow(size - 1, t.stride[i], &reach);
    if (reach < 0) overflow |= __builtin_add_overflow(low, reach, &low);
    else overflow |= __builtin_add_overflow(high, reach, &high);
  }
  constexpr int64_t kLimit = int64_t{1} << 62;
  const int64_t bytes = t.bytes_per_element();
  for (int64_t* count : {&low, &high, &compact}) overflow |= __builtin_mul_overflow(*count, bytes, count);
  if (!empty && (overflow || high > kLimit || low < -kLimit || compact > kLimit))
    return refuse(" has shape ", shape_text(given->shape, t.ndim), ", its size in bytes must be less than 2^62");
  if (!empty && given->data == nullptr) return refuse(".data is null");
  t.data = given->data ? static_cast<char*>(given->data) + given->byte_offset : nullptr;
  t.first = t.last = t.data;
  if (!empty) {
    t.first = t.data + low;
    t.last = t.data + high + bytes;
  }
  device(t, place);
  ++tensor_count_;
  return &t;
}

bool Validator::shape(const Tensor& t, std::initializer_list<int64_t> expected, const char* meaning) {
  bool same = t.ndim == static_cast<int32_t>(expected.size());
  const int64_t* want = expected.begin();
  for (int32_t i = 0; same && i < t.ndim; ++i) same = want[i] == kAnySize || want[i] == t.shape[i];
  if (same) return true;
  std::string sizes;
  for (size_t i = 0; i < expected.size(); ++i)
    sizes += cat(i == 0 ? "[" : ", ", want[i] == kAnySize ? std::string("any") : cat(want[i]));
  bad.add(cat(t.name, " has shape ", shape_text(t.shape, t.ndim), ", must be ", meaning, " = ", sizes, "]"));
  return false;
}

bool Validator::dtype(const Tensor& t, std::initializer_list<rapt_dtype> allowed) {
  for (const rapt_dtype& a : allowed)
    if (a.code == t.dtype.code && a.bits == t.dtype.bits) return true;
  std::string names;
  for (const rapt_dtype& a : allowed) {
    const std::string name = dtype_text(a);
    if (names.find(name) == std::string::npos) names += (names.empty() ? "" : " or ") + name;
  }
  bad.add(cat(t.name, " is ", dtype_text(t.dtype), ", must be ", names));
  return false;
}

void Validator::contiguous_rows(const Tensor& t) {
  const int32_t last = t.ndim - 1;
  if (t.shape[last] > 1 && t.stride[last] != 1 && t.has_elements())
    bad.add(cat(t.name, " has stride ", t.stride[last], " in its last dimension, must be 1 (contiguous head_dim)"));
}

void Validator::device(const Tensor& t, Place place) {
  if (t.device.type != RAPT_CPU && t.device.type != RAPT_CUDA && t.device.type != RAPT_ROCM) {
    bad.add(cat(t.name, " is on ", device_text(t.device), ", must be on cpu, cuda or hip"));
    return;
  }
  if (!call_device) call_device = t.device;
  if (place == Place::call_device_or_host && t.device.type == RAPT_CPU) return;
  if (call_device->type != t.device.type || call_device->id != t.device.id)
    bad.add(cat(t.name, " is on ", device_text(t.device), ", must be on ", device_text(*call_device), " like q"));
}

void Validator::written(const Tensor& t, const Tensor* may_overlap) {
  if (!elements_distinct(t)) bad.add(cat(t.name, " has strides under which elements share memory, an output must not"));
  may_overlap_[output_count_] = may_overlap;
  outputs_[output_count_++] = &t;
}

void Validator::read(const Tensor& t) { inputs_[input_count_++] = &t; }

void Validator::aliasing() {
  for (int32_t i = 0; i < output_count_; ++i) {
    for (int32_t j = 0; j < i; ++j)
      if (may_overlap_[i] != outputs_[j] && overlap(*outputs_[i], *outputs_[j]))
        bad.add(cat(outputs_[i]->name, " overlaps ", outputs_[j]->name, ": outputs must not share memory"));
    for (int32_t j = 0; j < input_count_; ++j)
      if (overlap(*outputs_[i], *inputs_[j]))
        bad.add(cat(outputs_[i]->name, " overlaps ", inputs_[j]->name, ": an output may not alias an input"));
  }
}

}  // namespace rapt
