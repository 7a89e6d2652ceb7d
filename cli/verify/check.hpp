// Compares a backend's results with the oracle's, by the rule of cli/rule/rule.hpp. X64 is the math backend in fp64 on
// the same values, X_plain the math backend in the tensors' own type. Backward passes get X_plain's out and X64's lse,
// rounded to float32.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/core/results.hpp"
#include "cli/rule/rule.hpp"

namespace rapt::cli {

struct CheckRow : Measure {
  rapt_op op = RAPT_FORWARD;
  std::string backend, kernel;
};

// A problem with the gradients that a check computes: the gradients that its text names, or all.
std::string with_gradients(const std::string& problem, const Attention& attention);

class Checker {
 public:
  // Computes the reference results on the host; dout is random, from the attention's seed. The backends run on the
  // device. `problem` is the attention's, with the gradients to compute.
  Checker(const Problem& problem, const Attention& attention, bool backward, const rapt_executor* executor,
          rapt_device device = kHost);
  std::vector<CheckRow> check_forward(const std::string& backend) const;
  std::vector<CheckRow> check_backward(const std::string& backend) const;

  // The same of any function, with tensors on the device; the rows name neither backend nor kernel.
  using ForwardCall = std::function<void(const rapt::Attention&, const Tensor& out, const Tensor& lse)>;
  using BackwardCall = std::function<void(const rapt::Attention&, const Tensor& out, const Tensor& lse,
                                          const Tensor& dout, const rapt::Gradients&)>;
  std::vector<CheckRow> forward_rows(const ForwardCall& call) const;
  std::vector<CheckRow> backward_rows(const BackwardCall& call) const;

 private:
  CheckRow compare(rapt_op op, const char* tensor, const Array& x, const Array& plain, const Array& exact) const;
  Execution how(const std::string& backend) const;

  const Attention& a_;
  const rapt_executor* executor_;
  rapt_device device_;
  bool deterministic_;
  int32_t gradients_;  // rapt_gradient_bits that are computed
  Attention a64_;
  Forward plain_, exact_;
  std::optional<Array> dout_, lse_;
  std::optional<Gradients> plain_gradients_, exact_gradients_;
  Bounds bounds_;
};

}  // namespace rapt::cli
