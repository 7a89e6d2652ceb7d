// Runs a backend on inputs through the C API.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "support/inputs.hpp"

namespace test {

// The structs of one attention call, pointing into `inputs`. Tests may change them before use.
struct Attention {
  explicit Attention(const Inputs& inputs);
  Attention(const Attention&) = delete;
  Attention& operator=(const Attention&) = delete;

  const rapt_tensor* hold(const Tensor& tensor);  // null where absent

  rapt_attention c;
  rapt_window window;
  rapt_dropout dropout;
  rapt_varlen varlen;
  rapt_kv_cache cache;

 private:
  double scale_;
  std::deque<rapt_tensor> held_;
};

struct Results {  // of a forward and a backward pass
  Tensor out, lse, dq, dk, dv, dbias, dsink;

  std::vector<std::pair<std::string, const Tensor*>> named() const;  // the results that are present
};

struct How {
  std::string backend = "math";
  const rapt_executor* executor = nullptr;
  bool backward = true;
  Layout layout = Layout::compact;
  const Results* given = nullptr;  // the backward pass gets its out and lse; null: the results' own
};

bool differentiable(const Inputs& inputs);  // it has a dout and no KV cache

// Outputs not yet written, all NaN.
Results make_results(const Inputs& inputs, Layout layout, bool backward);

rapt_status forward(const Inputs& inputs, Results& results, const How& how);
rapt_status backward(const Inputs& inputs, Results& results, const How& how);  // results hold the forward's

// Forward, and backward if requested and possible. Throws std::runtime_error with the library's message.
Results run(const Inputs& inputs, const How& how);

// Every backend for CPU tensors by name: "math", and where the type is not fp64 "cpu" and the tiers that this machine
// runs, "cpu.avx2", ...
std::vector<std::string> backends(const Problem& problem);

// True if rapt_explain_problem says that the backend would run the problem; `reason` receives its reason.
bool takes(const std::string& backend, const Problem& problem, rapt_op op, std::string* reason);

}  // namespace test
