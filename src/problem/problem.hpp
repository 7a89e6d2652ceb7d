// A problem as a value: sizes, type and options without tensors. It is the key that the CLI, tests, logs, tuning and
// explain share; docs/naming.md has the grammar of its text.
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

inline constexpr int64_t kMaxHeadDim = 512;

std::string_view dtype_name(DType dtype);
int64_t dtype_bytes(DType dtype);
std::optional<DType> dtype_from(rapt_dtype dtype);  // nullopt: not a type that attention computes in
rapt_dtype dtype_code(DType dtype);

struct Window {
  int64_t left = -1;  // -1: unbounded
  int64_t right = -1;
  bool operator==(const Window&) const = default;
};

struct Problem {
  int64_t batch = 1, heads_q = 1, heads_k = 1, seqlen_q = 1, seqlen_k = 1, head_dim = 1, head_dim_v = 1;
  DType dtype = DType::fp32;
  rapt_causal causal = RAPT_NOT_CAUSAL;
  std::optional<Window> window;
  std::optional<int32_t> bias, mask;  // rapt_broadcast_bits
  bool alibi = false;
  double softcap = 0;
  bool sink = false;
  double dropout = 0;
  std::optional<double> softmax_scale;
  std::vector<std::pair<int64_t, int64_t>>
      varlen;        // seqlen_q, seqlen_k of each sequence; then seqlen_* are the largest
  int64_t page = 0;  // 0: not paged
  bool deterministic = false;

  static Problem parse(std::string_view text);  // throws Error with every violation
  std::string text() const;
  void validate() const;  // throws Error with every violation
  uint64_t hash() const;
  bool operator==(const Problem&) const = default;
};

}  // namespace rapt
