// Tensors in AOTriton's interface, and its questions about a stream's GPU.
#ifndef RAPT_INCLUDE_AOTRITON_UTIL_H
#define RAPT_INCLUDE_AOTRITON_UTIL_H

#include <aotriton/config.h>
#include <aotriton/dtypes.h>
#include <aotriton/runtime.h>
#include <stdint.h>

#include <array>

namespace AOTRITON_NS {

// Device memory with sizes and strides, both in elements. A null tensor has no memory.
template <int Rank>
class AOTRITON_API TensorView {
 public:
  TensorView() {}
  TensorView(intptr_t data, std::array<uint64_t, Rank> sizes, std::array<uint64_t, Rank> strides, DType dtype)
      : data_(reinterpret_cast<void*>(data)), sizes_(sizes), strides_(strides), dtype_(dtype) {}
  static TensorView get_null_tensor(DType dtype) { return TensorView(0, {}, {}, dtype); }

  operator bool() const { return data_ != nullptr; }
  void* data_ptr() const { return data_; }
  DType dtype() const { return dtype_; }
  uint64_t size(int i) const { return sizes_[i]; }
  uint64_t stride(int i) const { return strides_[i]; }
  std::array<uint64_t, Rank> sizes() const { return sizes_; }
  std::array<uint64_t, Rank> strides() const { return strides_; }
  const uint64_t* size_ptr() const { return sizes_.data(); }
  const uint64_t* stride_ptr() const { return strides_.data(); }

 private:
  void* data_ = nullptr;
  std::array<uint64_t, Rank> sizes_;
  std::array<uint64_t, Rank> strides_;
  DType dtype_ = kUnknown;
};

// A number in device memory.
template <>
class AOTRITON_API TensorView<0> {
 public:
  TensorView() {}
  TensorView(intptr_t data, DType dtype) : data_(reinterpret_cast<void*>(data)), dtype_(dtype) {}
  static TensorView get_null_tensor(DType dtype) { return TensorView(0, dtype); }

  operator bool() const { return data_ != nullptr; }
  void* data_ptr() const { return data_; }
  DType dtype() const { return dtype_; }

 private:
  void* data_ = nullptr;
  DType dtype_ = kUnknown;
};

// Memory that AOTriton may ask its caller for. Rapt never asks.
template <int Rank>
struct LazyTensor {
#if AOTRITON_VERSION_MINOR >= 12
  using Asked = LazyTensor<Rank>;
#else
  using Asked = void;
#endif
  void* cookie = nullptr;
  TensorView<Rank> (*acquire)(Asked*) = nullptr;
  void (*dispose)(Asked*) = nullptr;
#if AOTRITON_VERSION_MINOR >= 12
  TensorView<Rank> eager = {};
#endif
};

// A GPU's number: PCI vendor << 32 | architecture << 16. AMD's architecture gfx942 is 0x942.
enum AOTRITON_API Gpu : uint64_t { GPU_ARCH_UNKNOWN = 0 };

AOTRITON_API Gpu getGpuFromStream(hipStream_t stream);
AOTRITON_API bool isArchExperimentallySupported(hipStream_t stream);
AOTRITON_API int getMultiProcessorCount(hipStream_t stream);
#if AOTRITON_VERSION_MINOR >= 13
AOTRITON_API bool isArchTechPreview(hipStream_t stream);
#endif

}  // namespace AOTRITON_NS

#endif
