#include "aotriton/call/tensors.hpp"

namespace rapt::aot {

namespace {

rapt_dtype dtype_of(aotriton::DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * bytes_of(dtype));
  switch (dtype) {
    case aotriton::kFloat32:
    case aotriton::kFloat16: return {RAPT_FLOAT, bits, 1};
    case aotriton::kBFloat16: return {RAPT_BFLOAT, bits, 1};
    case aotriton::kInt8:
    case aotriton::kInt16:
    case aotriton::kInt32:
    case aotriton::kInt64: return {RAPT_INT, bits, 1};
    default: return {RAPT_UINT, bits, 1};
  }
}

}  // namespace

int32_t bytes_of(aotriton::DType dtype) {
  switch (dtype) {
    case aotriton::kInt64:
    case aotriton::kUInt64: return 8;
    case aotriton::kFloat32:
    case aotriton::kInt32:
    case aotriton::kUInt32: return 4;
    case aotriton::kFloat16:
    case aotriton::kBFloat16:
    case aotriton::kInt16:
    case aotriton::kUInt16: return 2;
    default: return 1;
  }
}

void Tensor::set(void* data, aotriton::DType dtype, rapt_device device, int32_t ndim) {
  given_ = true;
  c_ = {data, device, ndim, dtype_of(dtype), shape_, strides_, 0};
}

void Tensor::set_dimension(int32_t i, uint64_t size, uint64_t stride) {
  shape_[i] = static_cast<int64_t>(size);
  strides_[i] = static_cast<int64_t>(stride);
}

void Tensor::set_rows(const T4& t, rapt_device device, bool packed) {
  set(t.data_ptr(), t.dtype(), device, packed ? 3 : 4);
  int32_t to = 0;
  for (const int from : {0, 2, 1, 3})
    if (!packed || from != 0) set_dimension(to++, t.size(from), t.stride(from));
}

void Tensor::set_scores(const T4& t, rapt_device device) {
  set(t.data_ptr(), t.dtype(), device, 4);
  for (int i = 0; i < 4; ++i) set_dimension(i, t.size(i), t.stride(i));
}

void Tensor::set_lse(const T2& t, rapt_device device, int64_t batch, int64_t heads, bool packed) {
  set(t.data_ptr(), t.dtype(), device, packed ? 2 : 3);
  const auto count = static_cast<uint64_t>(heads);
  int32_t to = 0;
  if (!packed) set_dimension(to++, static_cast<uint64_t>(batch), count * t.stride(0));
  set_dimension(to++, count, t.stride(0));
  set_dimension(to, t.size(1), t.stride(1));
}

void Tensor::set_number(const void* data, rapt_device device) {
  set(const_cast<void*>(data), aotriton::kUInt64, device, 0);
}

void Tensor::set_lengths(const T1& t, rapt_device device) {
  set(t.data_ptr(), t.dtype(), device, 1);
  set_dimension(0, t.size(0), t.stride(0));
}

}  // namespace rapt::aot
