#include "cli/core/calls.hpp"

#include <utility>

#include "cli/core/dtype.hpp"

namespace rapt::cli {

namespace {

// Storage laid out as `like`'s is: results for a [b, h, s, d] tensor come in that order too.
Array same_layout(const Array& like, int64_t row) {
  std::vector<int64_t> shape = like.shape();
  shape.back() = row;
  const bool heads_first = shape.size() == 4 && like.strides()[1] < like.strides()[2];
  if (heads_first) std::swap(shape[1], shape[2]);
  Array a(like.dtype(), std::move(shape));
  if (heads_first) a.swap_dimensions(1, 2);
  return a;
}
Array same_layout(const Array& like) { return same_layout(like, like.shape().back()); }

}  // namespace

Forward::Forward(const Attention& a) : out(same_layout(a.q, a.v.shape().back())), lse(a.lse_dtype(), a.lse_shape()) {}

Gradients::Gradients(const Attention& a) : dq(same_layout(a.q)), dk(same_layout(a.k)), dv(same_layout(a.v)) {
  if (a.bias) dbias = Array(a.bias->dtype(), a.bias->shape());
  if (a.sink) dsink = Array(a.sink->dtype(), a.sink->shape());
}

Execution::Execution(std::string backend, const rapt_executor* executor, bool allow_math)
    : backend_(std::move(backend)) {
  value_.backend = backend_.c_str();
  value_.executor = executor;
  value_.allow_math = allow_math ? 1 : 0;
}

void Execution::give_workspace(size_t bytes) {
  workspace_ = Array(kUint8, {static_cast<int64_t>(bytes)});
  value_.workspace = workspace_.data();
  value_.workspace_size = bytes;
}

ForwardCall::ForwardCall(const Attention& a, Forward& results, const Execution& execution)
    : attention_(a), out_(results.out.tensor()), lse_(results.lse.tensor()) {
  call_.attention = attention_.get();
  call_.out = &out_;
  call_.lse = &lse_;
  call_.execution = execution.get();
}

size_t ForwardCall::workspace_bytes() const {
  size_t bytes = 0;
  check(rapt_workspace_size(&call_, nullptr, &bytes));
  return bytes;
}

BackwardCall::BackwardCall(const Attention& a, const Forward& results, const Array& dout, Gradients& g,
                           const Execution& execution)
    : attention_(a),
      out_(results.out.tensor()),
      lse_(results.lse.tensor()),
      dout_(dout.tensor()),
      dq_(g.dq.tensor()),
      dk_(g.dk.tensor()),
      dv_(g.dv.tensor()) {
  call_.attention = attention_.get();
  call_.out = &out_;
  call_.lse = &lse_;
  call_.dout = &dout_;
  call_.dq = &dq_;
  call_.dk = &dk_;
  call_.dv = &dv_;
  if (g.dbias) {
    dbias_ = g.dbias->tensor();
    call_.dbias = &dbias_;
  }
  if (g.dsink) {
    dsink_ = g.dsink->tensor();
    call_.dsink = &dsink_;
  }
  call_.execution = execution.get();
}

size_t BackwardCall::workspace_bytes() const {
  size_t bytes = 0;
  check(rapt_workspace_size(nullptr, &call_, &bytes));
  return bytes;
}

}  // namespace rapt::cli
