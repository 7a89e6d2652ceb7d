// torch's fused attention operators for tensors of a GPU: what the kernels in rapt/torch/*_gpu.py share. It is C++
// because a small call costs nothing but the host's time.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "call.hpp"

namespace rapt::python {

class Fused {
 public:
  // What differs between the operators.
  struct Results {
    int64_t lse_multiple;  // lse has a multiple of this many rows
    bool lse_column;       // and a last dimension of 1
    nb::object unread;     // of a query and a maker of tensors: what nobody reads, dropout's seed the last
    nb::object new_out;    // of a query and head_dim_v; None: in the order of the query's memory
  };

  // `counts` is a rapt.torch.report.Counts, `side` the module rapt.torch.gpu_call.
  Fused(std::string name, Results results, nb::object counts, nb::object side);

  // (out, lse or None, results that nobody reads), or None if the call is left to torch.
  nb::object forward(nb::handle q, nb::handle k, nb::handle v, nb::handle bias, double dropout, bool causal,
                     nb::handle scale, bool wants_lse);

  // (dq, dk, dv, dbias), None for what is not wanted; or None if the call is left to torch.
  nb::object backward(nb::handle dout, nb::handle q, nb::handle k, nb::handle v, nb::handle bias, nb::handle out,
                      nb::handle lse, double dropout, nb::handle seed, bool causal, nb::handle scale,
                      std::array<bool, 4> wanted);

 private:
  enum class Direction { forward, backward };
  struct Attempt {
    nb::object results, why;  // why the call is left to torch, or None
  };
  struct Verdict {
    nb::object why, why_captured;  // of a call, and of one that a graph captures
  };
  using Key = std::array<int64_t, 9>;     // what a verdict depends on
  using LseKey = std::array<int64_t, 5>;  // the device's type and id, batch, heads, rows
  struct Hash {
    template <size_t N>
    size_t operator()(const std::array<int64_t, N>& key) const {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(key.data()), sizeof(key)});
    }
  };

  template <class Compute>
  nb::object attempt(Direction direction, bool must, const Compute& compute);
  void set(Call& call, nb::handle q, nb::handle k, nb::handle v, nb::handle bias, bool causal, nb::handle scale) const;
  nb::object why_not(Direction direction, const Call& call, nb::handle q, nb::handle k, bool has_dropout, bool alone);
  const Verdict& verdict(Direction direction, const Call& call, nb::handle q, nb::handle k, bool has_dropout,
                         bool alone);
  bool captured(const Call& call) const;
  nb::object empty(nb::handle sizes, nb::handle dtype, nb::handle like) const;
  nb::object new_out(const Call& call, nb::handle q) const;
  nb::object new_lse(const Call& call, nb::handle q);
  nb::object unread(const Call& call, nb::handle q, bool is_returned);

  std::string name_;
  Results results_;
  nb::object counts_, take_, side_, seed_type_;
  std::string backend_;
  nb::object empty_, empty_like_, fp32_, uses_flash_, deterministic_, only_warns_, capturing_;  // torch's
  std::unordered_map<Key, Verdict, Hash> verdicts_;
  std::unordered_map<LseKey, nb::object, Hash> lse_likes_;
  std::map<std::array<int64_t, 3>, nb::object> kept_;  // unread results, by device and dtype
};

void define_fused(nb::module_& m);

}  // namespace rapt::python
