// The types in AOTriton's C++ interface, as its callers lay them out. Mangled names are made of their names and
// members; tests/aotriton/interface/table.txt has what each release of AOTriton says about them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

struct ihipStream_t;  // HIP's; hipStream_t is a pointer to it

namespace aotriton {

// hipError_t. Results are not part of mangled names.
enum Error : int32_t {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidSymbol = 13,
  kNoBinaryForGpu = 209,
  kNotSupported = 801,
  kUnknown = 999
};

enum DType : int32_t {
  kNoType = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kInt8 = 10,
  kInt16 = 11,
  kInt32 = 12,
  kInt64 = 13,
  kUInt8 = 20,
  kUInt16 = 21,
  kUInt32 = 22,
  kUInt64 = 23
};

// Device memory with sizes and strides, in elements. A null tensor has no memory; its sizes may be anything.
template <int Rank>
class TensorView {
 public:
  using Numbers = std::array<uint64_t, Rank>;

  TensorView() {}  // leaves sizes and strides as they are, as AOTriton does
  TensorView(intptr_t data, Numbers sizes, Numbers strides, DType dtype)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): callers pass addresses so
      : data_(reinterpret_cast<void*>(data)), sizes_(sizes), strides_(strides), dtype_(dtype) {}

  operator bool() const { return data_ != nullptr; }
  uint64_t size(int i) const { return sizes_[static_cast<size_t>(i)]; }
  uint64_t stride(int i) const { return strides_[static_cast<size_t>(i)]; }
  Numbers sizes() const { return sizes_; }
  Numbers strides() const { return strides_; }
  const uint64_t* size_ptr() const { return sizes_.data(); }
  const uint64_t* stride_ptr() const { return strides_.data(); }
  void* data_ptr() const { return data_; }
  DType dtype() const { return dtype_; }
  void* kparam_data_ptr() const { return const_cast<void*>(static_cast<const void*>(&data_)); }
  void* kparam_stride(int i) const { return const_cast<uint64_t*>(&strides_[static_cast<size_t>(i)]); }
  static TensorView get_null_tensor(DType dtype) { return {0, {}, {}, dtype}; }

 private:
  void* data_ = nullptr;
  Numbers sizes_;
  Numbers strides_;
  DType dtype_ = kNoType;
};

// A scalar in device memory. Callers have their own copies of its members.
template <>
class TensorView<0> {
 public:
  TensorView() {}
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  TensorView(intptr_t data, DType dtype) : data_(reinterpret_cast<void*>(data)), dtype_(dtype) {}

  void* data_ptr() const { return data_; }
  DType dtype() const { return dtype_; }

 private:
  void* data_ = nullptr;
  DType dtype_ = kNoType;
};

extern template class TensorView<1>;
extern template class TensorView<2>;
extern template class TensorView<3>;
extern template class TensorView<4>;

template <class Native>
class StreamTemplate {
 public:
  StreamTemplate(Native stream) : stream_(stream) {}
  Native native() const { return stream_; }

 private:
  Native stream_;
};
using Stream = StreamTemplate<ihipStream_t*>;

using T0 = TensorView<0>;
using T1 = TensorView<1>;
using T2 = TensorView<2>;
using T4 = TensorView<4>;

}  // namespace aotriton
