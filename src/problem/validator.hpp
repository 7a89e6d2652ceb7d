// The vocabulary of validation: reading versioned structs and tensors, and comparing them with what is allowed.
#pragma once

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "problem/call.hpp"
#include "problem/error.hpp"
#include "problem/tensor.hpp"
#include "problem/text.hpp"

namespace rapt {

// The caller's struct, extended with zeros to the size this library knows. A caller newer than the library may use a
// larger struct as long as the part unknown here is zero.
template <class Struct>
Struct read_versioned(const char* name, const Struct* given) {
  Struct known;
  std::memset(&known, 0, sizeof known);
  if (given == nullptr) throw Error(RAPT_INVALID_ARGUMENT, cat(name, " is null"));
  const size_t size = given->struct_size;
  if (size <= sizeof(size_t) || size > 65536)
    throw Error(RAPT_INVALID_ARGUMENT, cat(name, ".struct_size is ", static_cast<uint64_t>(size),
                                           ", must be sizeof the struct, ", static_cast<uint64_t>(sizeof(Struct))));
  const char* bytes = reinterpret_cast<const char*>(given);
  for (size_t i = sizeof(Struct); i < size; ++i)
    if (bytes[i] != 0)
      throw Error(RAPT_UNSUPPORTED, cat(name, " uses fields of a newer Rapt than ", RAPT_VERSION_MAJOR, ".",
                                        RAPT_VERSION_MINOR, ".", RAPT_VERSION_PATCH));
  std::memcpy(&known, given, std::min(size, sizeof(Struct)));
  return known;
}

// Gives the caller as much of `known` as its struct, which may be an older or a newer one, holds.
template <class Struct>
void write_versioned(const char* name, Struct* to, Struct known) {
  const size_t size = to->struct_size;
  if (size <= sizeof(size_t))
    throw Error(RAPT_INVALID_ARGUMENT, cat(name, ".struct_size is ", static_cast<uint64_t>(size),
                                           ", must be sizeof the struct, ", static_cast<uint64_t>(sizeof(Struct))));
  known.struct_size = size;
  std::memcpy(to, &known, std::min(size, sizeof known));
}

inline constexpr int64_t kAnySize = -1;

class Validator {
 public:
  // The tensor, or nullopt with a violation noted. Its dtype and shape are compared separately. Every tensor lies on
  // the call's device; the small index tensors may lie in host memory too.
  enum class Place { call_device, call_device_or_host };
  std::optional<Tensor> tensor(const char* name, const rapt_tensor* given, int32_t ndim_min, int32_t ndim_max,
                               Place place = Place::call_device);

  // `expected` may hold kAnySize; `meaning` says it in words, such as "[batch, seqlen_k, heads_k, head_dim]".
  bool shape(const Tensor& t, std::initializer_list<int64_t> expected, const char* meaning);
  bool dtype(const Tensor& t, std::initializer_list<rapt_dtype> allowed);
  void contiguous_rows(const Tensor& t);  // the last dimension has stride 1
  void written(const Tensor& t);          // an output: its elements are distinct, and nothing else overlaps it
  void read(const Tensor& t);
  void aliasing();  // compares all that written() and read() collected

  Violations bad;
  std::optional<rapt_device> call_device;

 private:
  void device(const Tensor& t, Place place);

  static constexpr int32_t kMaxTensors = 24;
  Tensor outputs_[kMaxTensors], inputs_[kMaxTensors];
  int32_t output_count_ = 0, input_count_ = 0;
};

}  // namespace rapt
