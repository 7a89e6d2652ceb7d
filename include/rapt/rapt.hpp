// Rapt for C++20: the C ABI of rapt.h with values instead of pointers and exceptions instead of status codes. Header
// only; link rapt::rapt.
//
// Example: causal attention of 128 rows on the CPU. 8 heads of q share 2 heads of k and v.
//
//     std::vector<float> q(128 * 8 * 64), k(128 * 2 * 64), v(128 * 2 * 64), out(128 * 8 * 64);
//     rapt::Attention attention{.q = {q.data(), rapt::kFp32, {1, 128, 8, 64}},
//                               .k = {k.data(), rapt::kFp32, {1, 128, 2, 64}},
//                               .v = {v.data(), rapt::kFp32, {1, 128, 2, 64}},
//                               .causal = RAPT_CAUSAL};
//     rapt::forward(attention, {out.data(), rapt::kFp32, {1, 128, 8, 64}});  // throws rapt::Error
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rapt/error.hpp"
#include "rapt/problem.hpp"
#include "rapt/rapt.h"

namespace rapt {
inline namespace api {  // keeps these names distinct from the library's own in a program that links both statically

inline constexpr rapt_dtype kFp16 = {RAPT_FLOAT, 16, 1}, kBf16 = {RAPT_BFLOAT, 16, 1}, kFp32 = {RAPT_FLOAT, 32, 1},
                            kFp64 = {RAPT_FLOAT, 64, 1}, kInt32 = {RAPT_INT, 32, 1}, kUint8 = {RAPT_UINT, 8, 1},
                            kBool = {RAPT_BOOL, 8, 1};

// A shape or strides: up to four numbers, such as {2, 16, 8, 64}, or from a vector.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(values.begin(), values.size()) {}
  Dims(const std::vector<int64_t>& values) : Dims(values.data(), values.size()) {}
  Dims(const int64_t* values, size_t size) : size_(size) {
    if (size > values_.size()) throw Error(RAPT_INVALID_ARGUMENT, "a tensor has at most 4 dimensions");
    std::copy_n(values, size, values_.begin());
  }
  size_t size() const { return size_; }
  const int64_t* data() const { return values_.data(); }

 private:
  size_t size_ = 0;
  std::array<int64_t, 4> values_ = {};
};

// A tensor in memory that the caller owns. `strides` are in elements; none means compact.
class Tensor {
 public:
  Tensor() = default;
  Tensor(void* data, rapt_dtype dtype, const Dims& shape, const Dims& strides = {}, rapt_device device = {RAPT_CPU, 0})
      : data_(data), device_(device), dtype_(dtype), shape_(shape), strides_(strides) {
    if (strides.size() != 0 && strides.size() != shape.size())
      throw Error(RAPT_INVALID_ARGUMENT, "a tensor has as many strides as sizes, or none");
  }
  Tensor(const void* data, rapt_dtype dtype, const Dims& shape, const Dims& strides = {},
         rapt_device device = {RAPT_CPU, 0})
      : Tensor(const_cast<void*>(data), dtype, shape, strides, device) {}  // an input: the library only reads it

  // Made from the C struct, or from a DLPack tensor, which has the same layout. Copies shape and strides.
  explicit Tensor(const rapt_tensor& c)
      : data_(static_cast<char*>(c.data) + c.byte_offset),
        device_(c.device),
        dtype_(c.dtype),
        shape_(c.shape, static_cast<size_t>(c.ndim)) {
    if (c.strides != nullptr) strides_ = Dims(c.strides, static_cast<size_t>(c.ndim));
  }

  // Points into this object.
  rapt_tensor c() const {
    return {data_,  device_,       static_cast<int32_t>(shape_.size()),
            dtype_, shape_.data(), strides_.size() == 0 ? nullptr : strides_.data(),
            0};
  }

 private:
  void* data_ = nullptr;
  rapt_device device_ = {RAPT_CPU, 0};
  rapt_dtype dtype_ = kFp32;
  Dims shape_, strides_;
};

struct Window {
  int64_t left = -1, right = -1;  // -1: unbounded
  bool top_left = false;
};
struct Dropout {
  double probability = 0;
  uint64_t seed = 0, offset = 0;
  std::optional<Tensor> seed_tensor = {}, offset_tensor = {};
};
struct Varlen {
  std::optional<Tensor> cu_seqlens_q = {}, cu_seqlens_k = {};
  int64_t max_seqlen_q = 0, max_seqlen_k = 0;
  bool check_device_seqlens = false;
};

// Example: decodes one token of each sequence. Its k and v are appended to the cache before q attends.
//
//     std::vector<float> k(2 * 256 * 2 * 64), v(k.size());  // caches of 256 rows
//     std::vector<float> q(2 * 8 * 64), new_k(2 * 2 * 64), new_v(2 * 2 * 64), out(q.size());
//     const std::vector<int32_t> used = {100, 7};  // rows of the cache in use before this token
//     rapt::Attention attention{.q = {q.data(), rapt::kFp32, {2, 1, 8, 64}},
//                               .k = {k.data(), rapt::kFp32, {2, 256, 2, 64}},
//                               .v = {v.data(), rapt::kFp32, {2, 256, 2, 64}}};
//     attention.kv_cache = rapt::KvCache{.seqused_k = rapt::Tensor(used.data(), rapt::kInt32, {2}),
//                                        .new_k = rapt::Tensor(new_k.data(), rapt::kFp32, {2, 1, 2, 64}),
//                                        .new_v = rapt::Tensor(new_v.data(), rapt::kFp32, {2, 1, 2, 64})};
//     rapt::forward(attention, {out.data(), rapt::kFp32, {2, 1, 8, 64}});
struct KvCache {
  std::optional<Tensor> seqused_k = {}, cache_batch_idx = {}, leftpad_k = {}, block_table = {}, new_k = {}, new_v = {},
                        rotary_cos = {}, rotary_sin = {};
  bool rotary_interleaved = false;
};

// What to compute: rapt_attention, which has the shapes and formulas.
struct Attention {
  Tensor q, k, v;
  std::optional<double> softmax_scale = {};
  rapt_causal causal = RAPT_NOT_CAUSAL;
  double softcap = 0;
  std::optional<Window> window = {};
  std::optional<Tensor> bias = {}, mask = {}, alibi_slopes = {}, sink = {};
  std::optional<Dropout> dropout = {};
  std::optional<Varlen> varlen = {};
  std::optional<KvCache> kv_cache = {};
};

// How to run it: rapt_execution.
struct Execution {
  std::string backend = "auto";
  bool deterministic = false, allow_math = false;
  const rapt_executor* executor = nullptr;
  void* stream = nullptr;
  void* workspace = nullptr;
  size_t workspace_size = 0;
};

struct Gradients {
  std::optional<Tensor> dq = {}, dk = {}, dv = {}, dbias = {}, dsink = {};
};

namespace detail {

// Points into `e`.
inline rapt_execution c(const Execution& e) {
  rapt_execution execution = RAPT_INIT(rapt_execution);
  execution.backend = e.backend.c_str();
  execution.deterministic = e.deterministic;
  execution.allow_math = e.allow_math;
  execution.executor = e.executor;
  execution.stream = e.stream;
  execution.workspace = e.workspace;
  execution.workspace_size = e.workspace_size;
  return execution;
}

// The C structs of one call. They point at each other, so they stay where they are.
class Structs {
 public:
  Structs(const Attention& a, const Execution& e) : execution_(c(e)) {
    attention_.q = hold(a.q);
    attention_.k = hold(a.k);
    attention_.v = hold(a.v);
    if (a.softmax_scale) attention_.softmax_scale = &*a.softmax_scale;
    attention_.causal = a.causal;
    attention_.softcap = a.softcap;
    if (a.window) {
      window_.left = a.window->left;
      window_.right = a.window->right;
      window_.top_left = a.window->top_left;
      attention_.window = &window_;
    }
    attention_.bias = hold(a.bias);
    attention_.mask = hold(a.mask);
    attention_.alibi_slopes = hold(a.alibi_slopes);
    attention_.sink = hold(a.sink);
    if (a.dropout) {
      dropout_.probability = a.dropout->probability;
      dropout_.seed = a.dropout->seed;
      dropout_.offset = a.dropout->offset;
      dropout_.seed_tensor = hold(a.dropout->seed_tensor);
      dropout_.offset_tensor = hold(a.dropout->offset_tensor);
      attention_.dropout = &dropout_;
    }
    if (a.varlen) {
      varlen_.cu_seqlens_q = hold(a.varlen->cu_seqlens_q);
      varlen_.cu_seqlens_k = hold(a.varlen->cu_seqlens_k);
      varlen_.max_seqlen_q = a.varlen->max_seqlen_q;
      varlen_.max_seqlen_k = a.varlen->max_seqlen_k;
      varlen_.check_device_seqlens = a.varlen->check_device_seqlens;
      attention_.varlen = &varlen_;
    }
    if (a.kv_cache) set_cache(*a.kv_cache);
  }
  Structs(const Structs&) = delete;
  Structs& operator=(const Structs&) = delete;

  const rapt_tensor* hold(const Tensor& tensor) {
    tensors_[count_] = tensor.c();
    return &tensors_[count_++];
  }
  const rapt_tensor* hold(const std::optional<Tensor>& tensor) { return tensor ? hold(*tensor) : nullptr; }

  rapt_forward_call forward(const Tensor& out, const std::optional<Tensor>& lse) {
    rapt_forward_call call = RAPT_INIT(rapt_forward_call);
    call.attention = &attention_;
    call.out = hold(out);
    call.lse = hold(lse);
    call.execution = &execution_;
    return call;
  }
  rapt_backward_call backward(const Tensor& out, const Tensor& lse, const Tensor& dout, const Gradients& g) {
    rapt_backward_call call = RAPT_INIT(rapt_backward_call);
    call.attention = &attention_;
    call.out = hold(out);
    call.lse = hold(lse);
    call.dout = hold(dout);
    call.dq = hold(g.dq);
    call.dk = hold(g.dk);
    call.dv = hold(g.dv);
    call.dbias = hold(g.dbias);
    call.dsink = hold(g.dsink);
    call.execution = &execution_;
    return call;
  }

 private:
  void set_cache(const KvCache& c) {
    cache_.seqused_k = hold(c.seqused_k);
    cache_.cache_batch_idx = hold(c.cache_batch_idx);
    cache_.leftpad_k = hold(c.leftpad_k);
    cache_.block_table = hold(c.block_table);
    cache_.new_k = hold(c.new_k);
    cache_.new_v = hold(c.new_v);
    cache_.rotary_cos = hold(c.rotary_cos);
    cache_.rotary_sin = hold(c.rotary_sin);
    cache_.rotary_interleaved = c.rotary_interleaved;
    attention_.kv_cache = &cache_;
  }

  std::array<rapt_tensor, 32> tensors_ = {};
  size_t count_ = 0;
  rapt_attention attention_ = RAPT_INIT(rapt_attention);
  rapt_window window_ = RAPT_INIT(rapt_window);
  rapt_dropout dropout_ = RAPT_INIT(rapt_dropout);
  rapt_varlen varlen_ = RAPT_INIT(rapt_varlen);
  rapt_kv_cache cache_ = RAPT_INIT(rapt_kv_cache);
  rapt_execution execution_;
};

}  // namespace detail

// out [batch, seqlen_q, heads_q, head_dim_v], the type of q; lse fp32 [batch, heads_q, seqlen_q].
inline void forward(const Attention& attention, const Tensor& out, const std::optional<Tensor>& lse = {},
                    const Execution& execution = {}) {
  detail::Structs structs(attention, execution);
  const rapt_forward_call call = structs.forward(out, lse);
  check(rapt_forward(&call));
}

// out and lse are the forward's results. Each gradient is optional, at least one is given.
//
// Example: the gradients of q, k and v.
//
//     std::vector<float> q(32 * 4 * 16), k(q), v(q), out(q), dout(q), dq(q), dk(q), dv(q), lse(4 * 32);
//     const auto tensor = [](std::vector<float>& x) { return rapt::Tensor(x.data(), rapt::kFp32, {1, 32, 4, 16}); };
//     const rapt::Tensor row_lse(lse.data(), rapt::kFp32, {1, 4, 32});
//     const rapt::Attention attention{.q = tensor(q), .k = tensor(k), .v = tensor(v)};
//     rapt::forward(attention, tensor(out), row_lse);
//     rapt::backward(attention, tensor(out), row_lse, tensor(dout),
//                    {.dq = tensor(dq), .dk = tensor(dk), .dv = tensor(dv)});
inline void backward(const Attention& attention, const Tensor& out, const Tensor& lse, const Tensor& dout,
                     const Gradients& gradients, const Execution& execution = {}) {
  detail::Structs structs(attention, execution);
  const rapt_backward_call call = structs.backward(out, lse, dout, gradients);
  check(rapt_backward(&call));
}

inline size_t forward_workspace_size(const Attention& attention, const Tensor& out, const Execution& execution = {}) {
  detail::Structs structs(attention, execution);
  const rapt_forward_call call = structs.forward(out, {});
  size_t bytes = 0;
  check(rapt_workspace_size(&call, nullptr, &bytes));
  return bytes;
}

inline size_t backward_workspace_size(const Attention& attention, const Tensor& out, const Tensor& lse,
                                      const Tensor& dout, const Gradients& gradients, const Execution& execution = {}) {
  detail::Structs structs(attention, execution);
  const rapt_backward_call call = structs.backward(out, lse, dout, gradients);
  size_t bytes = 0;
  check(rapt_workspace_size(nullptr, &call, &bytes));
  return bytes;
}

// A fixed set of threads: pass executor() as Execution::executor. 0 threads: one per core.
class Pool {
 public:
  explicit Pool(int32_t num_threads = 0) { check(rapt_pool_create(num_threads, &executor_)); }
  ~Pool() { rapt_pool_destroy(executor_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  const rapt_executor* executor() const { return executor_; }

 private:
  rapt_executor* executor_ = nullptr;
};

// Sets the options of a problem that are numbers. The caller makes the tensors.
inline void set_options(Attention& attention, const Problem& problem, uint64_t dropout_seed = 0) {
  const rapt_problem c = problem.c();
  attention.causal = static_cast<rapt_causal>(c.causal);
  attention.softcap = c.softcap;
  if (c.has_scale) attention.softmax_scale = c.softmax_scale;
  if (c.has_window) attention.window = Window{c.window_left, c.window_right, c.window_top_left != 0};
  if (c.dropout != 0) attention.dropout = Dropout{.probability = c.dropout, .seed = dropout_seed};
}

}  // namespace api
}  // namespace rapt

#include "rapt/devices.hpp"
#include "rapt/explain.hpp"
