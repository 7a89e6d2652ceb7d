// The options of commands that take attention's tensors from files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/core/attention.hpp"

namespace CLI {
class App;
}

namespace rapt::cli {

struct TensorOptions {
  std::string input, q, k, v;
  std::string bias, mask, alibi, sink;
  std::string cu_seqlens_q, cu_seqlens_k;
  std::string layout = "bshd";
  std::map<std::string, std::string> numbers;  // options that are numbers, by their name in problem texts
  uint64_t seed = 1;

  bool given() const { return !input.empty() || !q.empty() || !k.empty() || !v.empty(); }
};

void add_tensor_options(CLI::App& command, TensorOptions& options);
// Throws InputError if a path is a file that tensors are read from.
void check_are_no_inputs(const std::vector<std::string>& paths, const TensorOptions& options);
Attention load_attention(const TensorOptions& options);  // throws InputError

}  // namespace rapt::cli
