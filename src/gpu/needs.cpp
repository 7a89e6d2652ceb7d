#include "gpu/needs.hpp"

#include <cfloat>
#include <cmath>

#include "base/text.hpp"
#include "kernels/archive_format.hpp"

namespace rapt::gpu {

namespace {

constexpr int64_t kMost = int64_t{1} << 29;  // kernels add up to three positions in int32

bool packed(const Problem& p) { return p.device_lengths || !p.varlen.empty(); }

}  // namespace

Needs needs_of(const Problem& p, rapt_op op) {
  Needs n{static_cast<const Sizes&>(p)};
  n.op = op;
  n.mask = p.window_left >= 0 ? MaskKind::window : p.right_side() >= 0 ? MaskKind::causal : MaskKind::none;
  // In float32, as the kernel computes: a tiny scale may become 0, and 0 times a masked logit's -Inf is NaN.
  const bool tiny_scale = p.softmax_scale && p.scale_log2() < FLT_MIN;
  n.options = tiny_scale ? KernelSupport::general : support_for(p);
  n.dropout = p.dropout != 0;
  n.softcap = p.softcap != 0;
  n.deterministic = op == RAPT_BACKWARD && p.deterministic;
  n.cache = p.has_cache;
  n.appends = p.seqlen_new > 0;
  n.rotates = p.rotary_dim > 0;
  n.page = p.page;
  n.padded_pages = p.page > 0 && p.has_leftpad;
  n.lengths_differ = packed(p) || p.has_leftpad || (p.has_cache && !p.whole_cache);
  n.packed = packed(p);
  n.host_lengths = !p.varlen.empty();
  n.sink = p.has_sink;
  const int64_t row = std::max(p.heads_q * std::max(p.head_dim, p.head_dim_v), p.row_stride);
  n.strides_fit = row < archive::kTritonRowStride;
  n.gradients = op == RAPT_BACKWARD ? p.gradients : 0;
  n.dbias_shape = n.wants(gradient::bias) ? p.bias_shape.value_or(0) : 0;
  if (op == RAPT_BACKWARD) n.rows_q = packed(p) ? p.total_q : p.batch * p.seqlen_q;
  n.alignment = p.alignment;
  n.backwards = p.backwards;
  return n;
}

// Problems of the same sizes seldom differ in anything else.
size_t NeedsHash::operator()(const Needs& n) const {
  uint64_t h = static_cast<uint64_t>(n.op) << 8 | static_cast<uint64_t>(n.dtype) << 4 | static_cast<uint64_t>(n.mask);
  for (const int64_t part : {n.batch, n.heads_q, n.heads_k, n.seqlen_q, n.seqlen_k, n.head_dim, n.head_dim_v, n.rows_q})
    h = (h ^ static_cast<uint64_t>(part)) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 32;
}

std::string unsupported(const Problem& p) {
  if (p.dtype == DType::fp64) return "fp64 requires backend \"math\"";
  if (p.page % 16 != 0) return cat("page is ", p.page, ", GPU kernels take multiples of 16");
  if (p.softcap != 0 && !(p.softcap >= FLT_MIN && p.softcap <= FLT_MAX))
    return cat("softcap is ", p.softcap, ", GPU kernels take values that are normal in float32");
  for (const auto& [name, rows] :
       {std::pair{"seqlen_q", p.seqlen_q}, std::pair{"seqlen_k", p.seqlen_k}, std::pair{"total_q", p.total_q},
        std::pair{"total_k", p.total_k}, std::pair{"batch", p.batch}, std::pair{"heads_q", p.heads_q}})
    if (rows > kMost) return cat(name, " is ", rows, ", GPU kernels take up to ", kMost);
  if (!std::isfinite(p.scale_log2()))
    return cat("softmax_scale is ", p.scale_or_default(), ", GPU kernels take values that are finite in float32");
  return "";
}

Grid grid_of(const Variant& v, const Needs& n) {
  const auto tiles = [](int64_t rows, int64_t block) { return (rows + block - 1) / block; };
  const auto grid = [&](int64_t batch, int64_t heads, int64_t rows, int64_t across = 1) -> Grid {
    const int64_t of_head = tiles(rows, v.block_q);
    return {of_head, static_cast<double>(of_head * across) * static_cast<double>(heads * batch)};
  };
  switch (v.known->stage) {
    case Stage::split: return grid(n.batch, n.heads_k, n.group_rows());  // rows of all heads that share a head of k
    case Stage::backward_dkv:
    case Stage::backward_fused: return grid(n.batch, n.heads_k, n.seqlen_k);
    case Stage::backward_short: return grid(n.batch, n.heads_k, 1);  // all keys of a head, also where it has none
    case Stage::backward_dbias:
      return grid(n.dbias_shape & RAPT_PER_BATCH ? n.batch : 1, n.dbias_shape & RAPT_PER_HEAD ? n.heads_q : 1,
                  n.dbias_shape & RAPT_PER_QUERY ? n.seqlen_q : 1, std::max<int64_t>(tiles(n.seqlen_k, v.block_k), 1));
    case Stage::backward_dsink: return grid(1, n.heads_q, 1);
    default: return grid(n.batch, n.heads_q, n.seqlen_q);
  }
}

}  // namespace rapt::gpu
