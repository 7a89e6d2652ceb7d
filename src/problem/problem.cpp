#include "problem/problem.hpp"

#include <algorithm>
#include <cmath>

#include "problem/error.hpp"
#include "problem/text.hpp"

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

std::string broadcast_text(int32_t bits) {
  return cat("b", bits & RAPT_PER_BATCH ? "N" : "1", "h", bits & RAPT_PER_HEAD ? "N" : "1",
             bits & RAPT_PER_QUERY ? "" : "q1");
}

// True if a * b * c ... does not fit in 62 bits: byte offsets and 1.5x safety margins must stay inside int64.
bool product_overflows(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (int64_t factor : factors)
    if (factor != 0 && __builtin_mul_overflow(product, factor, &product)) return true;
  return product > (int64_t{1} << 62);
}

}  // namespace

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
  if (causal == RAPT_CAUSAL) out += " causal";
  if (causal == RAPT_CAUSAL_TOP_LEFT) out += " causal-tl";
  if (window) out += cat(" window=", window->left, ",", window->right);
  if (bias) out += " bias=" + broadcast_text(*bias);
  if (mask) out += " mask=" + broadcast_text(*mask);
  if (alibi) out += " alibi";
  if (softcap != 0) out += cat(" softcap=", softcap);
  if (sink) out += " sink";
  if (dropout != 0) out += cat(" drop=", dropout);
  if (softmax_scale) out += cat(" scale=", *softmax_scale);
  for (size_t i = 0; i < varlen.size(); ++i)
    out += cat(i == 0 ? " varlen=" : ",", varlen[i].first, ":", varlen[i].second);
  if (page != 0) out += cat(" paged=", page);
  if (deterministic) out += " det";
  return out;
}

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
  if (window && (window->left < -1 || window->right < -1))
    bad.add(cat("window is ", window->left, ",", window->right, ", each side must be -1 (unbounded) or at least 0"));
  if (!(softcap >= 0) || std::isinf(softcap)) bad.add(cat("softcap is ", softcap, ", must be finite and at least 0"));
  if (!(dropout >= 0 && dropout < 1)) bad.add(cat("dropout probability is ", dropout, ", must be in [0, 1)"));
  if (softmax_scale && !std::isfinite(*softmax_scale))
    bad.add(cat("softmax_scale is ", *softmax_scale, ", must be finite"));
  at_least("page", page, 0);
  if (!varlen.empty()) {
    if (static_cast<int64_t>(varlen.size()) != batch)
      bad.add(cat("varlen has ", static_cast<int64_t>(varlen.size()), " sequences, must have batch = ", batch));
    int64_t longest_q = 0, longest_k = 0, total_q = 0, total_k = 0;
    for (const auto& [q, k] : varlen) {
      at_least("varlen seqlen_q", q, 0);
      at_least("varlen seqlen_k", k, 0);
      longest_q = std::max(longest_q, q);
      longest_k = std::max(longest_k, k);
      if (__builtin_add_overflow(total_q, q, &total_q) || total_q > INT32_MAX ||
          __builtin_add_overflow(total_k, k, &total_k) || total_k > INT32_MAX) {
        bad.add("varlen: the total length must fit in 32 bits");
        break;
      }
    }
    if (longest_q != seqlen_q || longest_k != seqlen_k)
      bad.add(cat("sq", seqlen_q, " sk", seqlen_k, " must be the largest of varlen, ", longest_q, " and ", longest_k));
  }
  const int64_t widest = std::max<int64_t>({head_dim, head_dim_v, 1});
  if (bad.empty() && (product_overflows({batch, heads_q, seqlen_q, widest, 8}) ||
                      product_overflows({batch, heads_k, seqlen_k, widest, 8}) ||
                      (bias && product_overflows({batch, heads_q, seqlen_q, seqlen_k, 8}))))
    bad.add("the problem's tensors exceed 2^62 bytes");
  bad.throw_if_any();
}

uint64_t Problem::hash() const {  // FNV-1a over the canonical text: equal problems have equal text
  uint64_t h = 14695981039346656037u;
  for (unsigned char c : text()) h = (h ^ c) * 1099511628211u;
  return h;
}

}  // namespace rapt
