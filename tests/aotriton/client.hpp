// Calls libaotriton_v2 as PyTorch does, through the interface of any release, with the inputs of a test.
#pragma once

#include <optional>
#include <string>

#include "aotriton/abi/functions.hpp"
#include "gpu/device_run.hpp"
#include "spread.hpp"

namespace test {

// The functions and structs of releases: 0.4; 0.5 and 0.6; 0.7 and 0.8; 0.9 and, for gradients, attn_bwd_fused; 0.10;
// 0.11; 0.12 and 0.13; 0.14.
enum class Api { v04, v05, v07, v09, v09_fused, v10, v11, v12, v14 };
std::string name_of(Api api);
inline constexpr Api kEveryApi[] = {Api::v04, Api::v05, Api::v07, Api::v09, Api::v09_fused,
                                    Api::v10, Api::v11, Api::v12, Api::v14};

struct Calling {
  Api api = Api::v12;
  ihipStream_t* stream = nullptr;
  std::optional<std::pair<int32_t, int32_t>> window = {};  // instead of the problem's
  bool log2 = false, padded = false;                       // the form of lse; tests know it from the library's name
  Lengths lengths = Lengths::packed;                       // for problems with packed sequences
  bool one_bias = false;  // pass only the first part of a bias that repeats, with strides of 0
};

// The caller's memory: every tensor has its own, exact to the byte.
class Views {
 public:
  explicit Views(rapt_device device) : copies_(device) {}

  // [batch, seqlen, heads, head_dim] as [batch, heads, seqlen, head_dim], packed [total, heads, head_dim] as [1, heads,
  // total, head_dim]
  aotriton::T4 rows(const Tensor& t);
  aotriton::T4 rows_written(Tensor& t);
  aotriton::T4 scores(const Tensor& t, const rapt_problem& p);  // with full sizes, broadcast by strides of 0
  aotriton::T4 scores_written(Tensor& t);
  aotriton::T2 matrix(const Tensor& t);
  aotriton::T2 matrix_written(Tensor& t);
  aotriton::T1 lengths(const Tensor& t);
  aotriton::T0 number(uint64_t value);
  rapt_tensor written(Tensor& t) { return placed_output(t); }
  void fetch() const { copies_.fetch(); }

 private:
  rapt_tensor placed(const Tensor& t);
  rapt_tensor placed_output(Tensor& t);

  Copies copies_;
};

// Returns results in Rapt's own form: lse natural, -Inf for rows that attend nothing. Throws std::runtime_error if the
// function returns an error.
Results forward_through(const Calling& how, rapt_device device, const Inputs& inputs, Layout layout);

// The backward pass of a forward pass whose out and lse are `given`.
Results backward_through(const Calling& how, rapt_device device, const Inputs& inputs, const Results& given,
                         Layout layout);

// A function of HIP, as a user's program has it.
void* hip_function(const char* name);

}  // namespace test
