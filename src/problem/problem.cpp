#include "problem/problem.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/text.hpp"
#include "problem/options.hpp"

namespace rapt {

namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int64_t bytes;
  rapt_dtype code;
};
constexpr DTypeRow kDTypes[] = {
    {DType::fp16, "fp16", 2, {RAPT_FLOAT, 16, 1}},
    {DType::bf16, "bf16", 2, {RAPT_BFLOAT, 16, 1}},
    {DType::fp32, "fp32", 4, {RAPT_FLOAT, 32, 1}},
    {DType::fp64, "fp64", 8, {RAPT_FLOAT, 64, 1}},
};

const DTypeRow& row(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

// True if a * b * c ... does not fit in 62 bits: byte offsets and 1.5x safety margins must stay inside int64.
bool product_overflows(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors)
    if (factor != 0 && __builtin_mul_overflow(product, factor, &product)) return true;
  return product > (int64_t{1} << 62);
}

}  // namespace

std::string_view pass_name(rapt_op op) {
  switch (op) {
    case RAPT_FORWARD: return "forward";
    case RAPT_BACKWARD: return "backward";
  }
  return "";
}

std::string_view dtype_name(DType dtype) { return row(dtype).name; }
int64_t dtype_bytes(DType dtype) { return row(dtype).bytes; }
rapt_dtype dtype_code(DType dtype) { return row(dtype).code; }

std::optional<DType> dtype_from(rapt_dtype dtype) {
  for (const DTypeRow& r : kDTypes)
    if (r.code.code == dtype.code && r.code.bits == dtype.bits && dtype.lanes == 1) return r.dtype;
  return std::nullopt;
}

std::string Problem::text() const {
  std::string out = cat("b", batch, " hq", heads_q, " hk", heads_k, " sq", seqlen_q, " sk", seqlen_k, " d", head_dim);
  if (head_dim_v != head_dim) out += cat(" dv", head_dim_v);
  out += cat(" ", dtype_name(dtype));
  for (const Option& option : options())
    if (option.given(*this)) out += cat(" ", option.print(*this));
  return out;
}

void Problem::add_sequence(int64_t rows_q, int64_t rows_k) {
  varlen.emplace_back(rows_q, rows_k);
  if (__builtin_add_overflow(total_q, rows_q, &total_q)) total_q = INT64_MAX;
  if (__builtin_add_overflow(total_k, rows_k, &total_k)) total_k = INT64_MAX;
}

double Problem::scale_or_default() const {
  return softmax_scale.value_or(1 / std::sqrt(static_cast<double>(std::max<int64_t>(head_dim, 1))));
}

float Problem::scale_log2() const { return static_cast<float>(scale_or_default() * std::numbers::log2e); }

void Problem::validate() const {
  Violations bad;
  const auto at_least = [&](std::string_view name, int64_t value, int64_t least) {
    if (value < least) bad.add(cat(name, " is ", value, ", must be at least ", least));
  };
  at_least("batch", batch, 0);
  at_least("heads_q", heads_q, 1);
  at_least("heads_k", heads_k, 1);
  at_least("seqlen_q", seqlen_q, 0);
  at_least("seqlen_k", seqlen_k, 0);
  if (heads_q >= 1 && heads_k >= 1 && heads_q % heads_k != 0)
    bad.add(cat("heads_q is ", heads_q, ", must be a multiple of heads_k, which is ", heads_k));
  for (const auto& [name, value] : {std::pair{"head_dim", head_dim}, std::pair{"head_dim_v", head_dim_v}})
    if (value < 1 || value > kMaxHeadDim) bad.add(cat(name, " is ", value, ", must be in 1 to ", kMaxHeadDim));
  for (const Option& option : options()) {
    option.check(*this, bad);
    if (option.needs_cache && option.given(*this) && !has_cache) bad.add(cat(option.form, " needs a KV cache"));
  }
  if (!varlen.empty()) {
    if (static_cast<int64_t>(varlen.size()) != batch)
      bad.add(cat("varlen has ", static_cast<int64_t>(varlen.size()), " sequences, must have batch = ", batch));
    int64_t longest_q = 0, longest_k = 0;
    for (const auto& [q, k] : varlen) {
      at_least("varlen seqlen_q", q, 0);
      at_least("varlen seqlen_k", k, 0);
      longest_q = std::max(longest_q, q);
      longest_k = std::max(longest_k, k);
    }
    if (total_q > INT32_MAX || total_k > INT32_MAX) bad.add("varlen: the total length must fit in 32 bits");
    if (longest_q != seqlen_q || longest_k != seqlen_k)
      bad.add(cat("sq", seqlen_q, " sk", seqlen_k, " must be the largest of varlen, ", longest_q, " and ", longest_k));
  }
  const int64_t widest = std::max<int64_t>({head_dim, head_dim_v, 1});
  if (bad.empty() && (product_overflows({batch, heads_q, seqlen_q, widest, 8}) ||
                      product_overflows({batch, heads_k, seqlen_k, widest, 8}) ||
                      (bias_shape && product_overflows({batch, heads_q, seqlen_q, seqlen_k, 8}))))
    bad.add("the problem's tensors exceed 2^62 bytes");
  bad.throw_if_any();
}

}  // namespace rapt
