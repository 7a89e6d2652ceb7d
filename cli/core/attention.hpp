// One attention call's tensors and options, owned; and the C structs that describe them to the library.
#pragma once

#include <optional>

#include "cli/core/array.hpp"
#include "cli/core/library.hpp"

namespace rapt::cli {

struct Attention {
  Array q, k, v;
  std::optional<Array> bias, mask, alibi_slopes, sink;
  std::optional<Array> cu_seqlens_q, cu_seqlens_k;  // packed q; packed k and v
  std::optional<Array> seqused_k, block_table;      // paged k and v
  std::optional<double> scale;
  int32_t causal = RAPT_NOT_CAUSAL;
  double softcap = 0;
  std::optional<std::pair<int64_t, int64_t>> window;  // left, right
  double dropout = 0;
  uint64_t seed = 0;

  bool packed() const { return cu_seqlens_q.has_value(); }
  int64_t batch() const;
  int64_t heads_q() const { return q.shape().end()[-2]; }
  int64_t heads_k() const { return k.shape().end()[-2]; }
  int64_t head_dim() const { return q.shape().back(); }
  std::vector<int64_t> lse_shape() const;
  rapt_dtype lse_dtype() const;
  int64_t bytes() const;  // of every tensor it holds

  Attention converted(rapt_dtype dtype) const;  // q, k, v, bias and sink; the rest is copied
};

// Valid while the Attention it was made from stays where it is.
class AttentionView {
 public:
  explicit AttentionView(const Attention& from);
  AttentionView(const AttentionView&) = delete;
  const rapt_attention* get() const { return &attention_; }

 private:
  const rapt_tensor* keep(const Array& array);
  const rapt_tensor* keep(const std::optional<Array>& array) { return array ? keep(*array) : nullptr; }

  static constexpr size_t kTensors = 11;
  rapt_tensor tensors_[kTensors];
  size_t used_ = 0;
  double scale_ = 0;
  rapt_window window_ = RAPT_INIT(rapt_window);
  rapt_dropout dropout_ = RAPT_INIT(rapt_dropout);
  rapt_varlen varlen_ = RAPT_INIT(rapt_varlen);
  rapt_kv_cache cache_ = RAPT_INIT(rapt_kv_cache);
  rapt_attention attention_ = RAPT_INIT(rapt_attention);
};

}  // namespace rapt::cli
