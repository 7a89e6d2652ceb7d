// A problem describes a call without its tensors: sizes, options, requested results and the tensors' layout. These
// decide which backend and kernel run. A problem prints, parses and compares; docs/naming.md has the grammar of its
// text, options.cpp the table of its options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rapt/rapt.h"

namespace rapt {

enum class DType : uint8_t { fp16, bf16, fp32, fp64 };

inline constexpr int64_t kMaxHeadDim = 576;  // MLA decodes with 576

std::string_view dtype_name(DType dtype);
int64_t dtype_bytes(DType dtype);
std::optional<DType> dtype_from(rapt_dtype dtype);  // nullopt: not a type that attention supports
rapt_dtype dtype_code(DType dtype);

// The results of a backward pass that a problem asks for, one bit each.
namespace gradient {
inline constexpr int32_t q = RAPT_GRADIENT_Q, k = RAPT_GRADIENT_K, v = RAPT_GRADIENT_V;
inline constexpr int32_t bias = RAPT_GRADIENT_BIAS, sink = RAPT_GRADIENT_SINK;
}  // namespace gradient

struct Sizes {
  int64_t batch = 1, heads_q = 1, heads_k = 1;
  int64_t seqlen_q = 1, seqlen_k = 1;  // the largest, where lengths vary
  int64_t head_dim = 1, head_dim_v = 1;
  DType dtype = DType::fp32;

  int64_t group() const { return heads_q / heads_k; }  // query heads that share a head of k and v
  bool operator==(const Sizes&) const = default;
};

struct Problem : Sizes {
  // what is computed
  int32_t causal = RAPT_NOT_CAUSAL;  // rapt_causal; before validation, the caller's value
  bool has_window = false;
  int64_t window_left = -1, window_right = -1;    // -1: unbounded
  bool window_top_left = false;                   // the window is around key i, also without causality
  std::optional<int32_t> bias_shape, mask_shape;  // rapt_broadcast_bits
  bool bias_fp32 = false;                         // the bias is float32, q is not
  bool has_alibi = false;
  double softcap = 0;
  bool has_sink = false;
  double dropout = 0;                   // the probability
  std::optional<double> softmax_scale;  // else 1 / sqrt(head_dim)
  bool deterministic = false;
  bool wants_lse = false;                                       // the forward pass writes lse
  int32_t gradients = gradient::q | gradient::k | gradient::v;  // that the backward pass writes

  // layout of rows and lengths
  std::vector<std::pair<int64_t, int64_t>> varlen;  // seqlen_q and seqlen_k of each packed sequence, if known
  bool device_lengths = false;                      // packed, with cu_seqlens in device memory: varlen is empty
  int64_t total_q = 0, total_k = 0;                 // rows of packed q, and of packed k and v
  bool has_cache = false;                           // k and v are a KV cache
  int64_t page = 0;                                 // rows of a page of the cache; 0: not paged
  bool whole_cache = false;                         // no seqused_k: the whole capacity is in use
  bool has_leftpad = false, has_batch_idx = false;  // of the cache
  int64_t seqlen_new = 0;                           // rows appended to the cache
  int64_t rotary_dim = 0;                           // 0: no rotary embedding
  bool rotary_interleaved = false;
  int64_t alignment = 16;  // the least alignment in bytes of every tensor's data and rows, at most 16
  int64_t row_stride = 0;  // the largest distance between rows in elements, if larger than rows of all heads
  bool backwards = false;  // rows, heads or sequences of a tensor lie at negative strides

  // Adds a packed sequence: to varlen and the totals, which saturate (validate() refuses such lengths).
  void add_sequence(int64_t rows_q, int64_t rows_k);
  double scale_or_default() const;  // softmax_scale
  float scale_log2() const;         // the same times log2(e), rounded once, as GPU kernels take it
  int64_t right_side() const { return causal != RAPT_NOT_CAUSAL ? 0 : window_right; }  // of the window
  // Query i is aligned with key i + diagonal.
  int64_t diagonal(int64_t rows_q, int64_t rows_k) const {
    return causal == RAPT_CAUSAL_TOP_LEFT || window_top_left ? 0 : rows_k - rows_q;
  }

  static Problem parse(std::string_view text);  // throws Error with every violation
  std::string text() const;
  void validate() const;  // throws Error with every violation
  bool operator==(const Problem&) const = default;
};

std::string_view pass_name(rapt_op op);  // "forward"; "" if it is not an operation

// Floating-point operations: 2 * (head_dim + head_dim_v) for each pair of query and key that causality and window
// allow. The backward pass has 2.5 times as many, because it computes five products instead of two.
double flops(const Problem& problem, rapt_op op);

}  // namespace rapt
