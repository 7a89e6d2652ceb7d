// AOTriton's tensors as Rapt's: the same memory, in another order of dimensions.
#pragma once

#include "aotriton/call/call.hpp"
#include "rapt/rapt.h"

namespace rapt::aot {

// A rapt_tensor with the sizes and strides that it points to.
class Tensor {
 public:
  Tensor() = default;  // not given
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  // [batch, heads, seqlen, head_dim] to [batch, seqlen, heads, head_dim]; packed, [1, heads, total, head_dim] to
  // [total, heads, head_dim]
  void set_rows(const T4& t, rapt_device device, bool packed);
  void set_scores(const T4& t, rapt_device device);
  // [batch * heads, seqlen] to [batch, heads, seqlen]; packed, [heads, total] as it is
  void set_lse(const T2& t, rapt_device device, int64_t batch, int64_t heads, bool packed);
  void set_lengths(const T1& t, rapt_device device);
  void set_number(const void* data, rapt_device device);  // 64 bits

  const rapt_tensor* c() const { return given_ ? &c_ : nullptr; }

 private:
  void set(void* data, aotriton::DType dtype, rapt_device device, int32_t ndim);
  void set_dimension(int32_t i, uint64_t size, uint64_t stride);

  bool given_ = false;
  int64_t shape_[4] = {}, strides_[4] = {};
  rapt_tensor c_ = {};
};

int32_t bytes_of(aotriton::DType dtype);

// True if a tensor was given. Some callers pass a tensor without elements for "none".
template <int Rank>
bool given(const aotriton::TensorView<Rank>& t) {
  if (!t) return false;
  for (int i = 0; i < Rank; ++i)
    if (t.size(i) == 0) return false;
  return true;
}

}  // namespace rapt::aot
