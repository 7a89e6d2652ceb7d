// lse in the caller's form.
#pragma once

#include "aotriton/call/attention.hpp"
#include "aotriton/call/memory.hpp"
#include "aotriton/hip/kernels.hpp"

namespace rapt::aot {

// Rapt's lse of a call. It is in the caller's memory if the caller's form is Rapt's, otherwise in memory of the stream.
class Lse {
 public:
  Lse(const Call& call, const Attention& attention)
      : call_(call), attention_(attention), scratch_(attention.device(), call.stream) {}

  Error prepare_to_write();  // before the forward pass, which writes c()
  Error write();             // after it
  Error read();              // before the backward pass, which reads c()
  const rapt_tensor* c() const { return tensor_.c(); }

 private:
  bool padded() const;
  bool like_rapts() const;  // except for the logarithm's base
  Error check_form() const;
  Error use_callers();
  Error use_scratch();
  void set(const T2& t);
  Error convert(const rapt_aot_rows& from, const rapt_aot_rows& to, float factor) const;
  rapt_aot_rows rows(void* data, int64_t head, int64_t row, const T1& first) const;
  rapt_aot_rows callers() const;
  rapt_aot_rows rapts() const;

  const Call& call_;
  const Attention& attention_;
  Scratch scratch_;
  Tensor tensor_;
};

}  // namespace rapt::aot
