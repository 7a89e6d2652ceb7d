// Runs attention: owns the results and the workspace, and keeps the C call structs together.
#pragma once

#include <optional>
#include <string>

#include "cli/core/attention.hpp"

namespace rapt::cli {

struct Forward {
  explicit Forward(const Attention& a);
  Array out, lse;
};

struct Gradients {
  explicit Gradients(const Attention& a);
  Array dq, dk, dv;
  std::optional<Array> dbias, dsink;
};

// How to run: a backend's name, threads, and whether the workspace is allocated beforehand.
class Execution {
 public:
  explicit Execution(std::string backend, const rapt_executor* executor = nullptr, bool allow_math = true);
  Execution(const Execution&) = delete;
  const rapt_execution* get() const { return &value_; }
  const std::string& backend() const { return backend_; }
  void give_workspace(size_t bytes);
  size_t workspace_bytes() const { return value_.workspace_size; }

 private:
  std::string backend_;
  Array workspace_;
  rapt_execution value_ = RAPT_INIT(rapt_execution);
};

class ForwardCall {
 public:
  ForwardCall(const Attention& a, Forward& results, const Execution& execution);
  ForwardCall(const ForwardCall&) = delete;
  void run() const { check(rapt_forward(&call_)); }
  size_t workspace_bytes() const;
  Explanation explain() const { return cli::explain(call_); }

 private:
  AttentionView attention_;
  rapt_tensor out_, lse_;
  rapt_forward_call call_ = RAPT_INIT(rapt_forward_call);
};

class BackwardCall {
 public:
  BackwardCall(const Attention& a, const Forward& results, const Array& dout, Gradients& gradients,
               const Execution& execution);
  BackwardCall(const BackwardCall&) = delete;
  void run() const { check(rapt_backward(&call_)); }
  size_t workspace_bytes() const;
  Explanation explain() const { return cli::explain(call_); }

 private:
  AttentionView attention_;
  rapt_tensor out_, lse_, dout_, dq_, dk_, dv_, dbias_, dsink_;
  rapt_backward_call call_ = RAPT_INIT(rapt_backward_call);
};

}  // namespace rapt::cli
