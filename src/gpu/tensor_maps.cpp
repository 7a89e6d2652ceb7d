#include "gpu/tensor_maps.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <numbers>

#include "gpu/arguments.hpp"

namespace rapt::gpu {

namespace {

constexpr int64_t kMostStep = 128;  // queries of a step of the backward pass
constexpr int32_t kBlockRows = 64;  // of what its other kernels read and its groups store

// A stride that no copy needs must still be one that the driver takes.
int64_t stride(int64_t elements, int64_t bytes) { return elements == 0 ? 16 : elements * bytes; }

void encode(rapt_abi_tensor_map& map, const char* name, const Call& call, const View& view, int64_t heads,
            bool of_queries, int64_t columns, int32_t box_rows, const Device& device) {
  const int64_t bytes = dtype_bytes(call.dtype);
  const bool packed = (of_queries ? call.cu_seqlens_q : call.cu_seqlens_k) != nullptr;
  const bool cached = !of_queries && call.has_cache;
  const int64_t total = of_queries ? call.total_q : call.total_k;
  const int64_t rows = of_queries ? call.seqlen_q : call.block_table ? call.page : call.seqlen_k;
  const TensorLayout layout = {.data = view.data,
                               .bf16 = call.dtype == DType::bf16,
                               .batch = packed   ? 1
                                        : cached ? call.cache_batches
                                                 : call.batch,
                               .heads = heads,
                               .rows = packed ? total : rows,
                               .columns = columns,
                               .batch_stride = stride(packed ? 0 : view.batch, bytes),
                               .head_stride = view.head * bytes,
                               .row_stride = view.seq * bytes,
                               .box_rows = box_rows};
  device.driver->check(device.driver->encode_tensor_map(&map, layout), "describing ", name, " to the copy engine of ",
                       device.text());
}

// Boxes of a bias or mask have 128 bytes of a row, and `rows` of a tile of queries and `keys`. `bytes`: of an element.
void add_tiles(rapt_hopper_score_tiles& t, const char* name, const Call& call, const ScoreView& view, int64_t bytes,
               int32_t rows, int64_t keys, const Device& device) {
  if (!view) return;
  t.per_query = view.query != 0;
  t.per_head = view.head != 0;
  t.per_batch = view.batch != 0;
  const int32_t box_rows = t.per_query ? rows : 1;
  t.box_bytes = box_rows * kBoxColumns * 2;
  t.boxes = static_cast<int32_t>(std::max<int64_t>(keys * bytes / (int64_t{kBoxColumns} * 2), 1));
  const TensorLayout layout = {.data = view.data,
                               .bf16 = call.dtype == DType::bf16,
                               .batch = t.per_batch ? call.batch : 1,
                               .heads = t.per_head ? call.heads_q : 1,
                               .rows = t.per_query ? call.seqlen_q : 1,
                               .columns = (call.seqlen_k * bytes + 1) / 2,
                               .batch_stride = stride(view.batch, bytes),
                               .head_stride = stride(view.head, bytes),
                               .row_stride = stride(view.query, bytes),
                               .box_rows = box_rows};
  device.driver->check(device.driver->encode_tensor_map(&t.map, layout), "describing ", name, " to the copy engine of ",
                       device.text());
}

rapt_hopper_softcap softcap_args(const Call& call) {
  constexpr float kPolynomial[] = RAPT_TANH_POLYNOMIAL;
  rapt_hopper_softcap c = {};
  const double ratio = call.scale / call.softcap;
  bool normal = true;
  const auto rounded = [&](double x) {
    const auto y = static_cast<float>(x);
    normal = normal && std::isnormal(y);
    return y;
  };
  double power = call.scale;
  for (int i = 0; i < 4; ++i, power *= ratio * ratio) c.coefficients[i] = rounded(power * kPolynomial[i]);
  c.most_square = rounded(RAPT_TANH_MOST_SQUARE / (ratio * ratio));
  if (!normal) c.most_square = -1;
  const auto cap = static_cast<float>(call.softcap);
  c.inverse = 1 / cap;
  if (cap * c.inverse < 1) c.inverse = std::nextafter(c.inverse, FLT_MAX);  // a logit at the cap has a slope of 0
  return c;
}

void add_scores(rapt_hopper_scores& s, const Call& call, const rapt_abi_problem& problem, int32_t rows, int64_t keys,
                const Device& device) {
  add_tiles(s.bias, "bias", call, call.bias, dtype_bytes(call.dtype), rows, keys, device);
  add_tiles(s.mask, "mask", call, call.mask, 1, rows, keys, device);
  if (problem.softcap > 0) s.softcap = softcap_args(call);
  s.last_keys_first = call.alibi && problem.window_right == 0;
  if (problem.softcap > 0 || call.alibi || call.bias) {
    s.unit = 1;
    s.unit_log2 = std::numbers::log2e_v<float>;
    s.unit_log2_inverse = std::numbers::ln2_v<float>;
  } else {
    s.unit = problem.scale;
    s.unit_log2 = problem.scale_log2;
    s.unit_log2_inverse = 1 / problem.scale_log2;
  }
}

// Later rows may have more keys, and earlier keys more rows: tiles of keys lie in reverse. Then the longest tiles of a
// section come first: of all heads, if their keys fit half of the cache, and else of heads with 2 MiB of keys. Heads of
// more than 16 tiles have them in pairs of a long and a short one: of one head, or of two if a head has an odd number.
// (docs/log/2026-11-28-h100-forward-hopper.md)
rapt_abi_turns turns_of(const Call& call, int64_t tiles, bool of_keys, const Device& device) {
  constexpr int64_t kSection = int64_t{2} << 20, kFewTiles = 16;
  const int64_t heads = call.batch * (of_keys ? call.heads_k : call.heads_q);
  rapt_abi_turns turns = {static_cast<int32_t>(tiles), static_cast<int32_t>(heads), 1, RAPT_DEAL_EVEN};
  if (call.right_side() < 0 || call.window_left >= 0) return turns;
  const int64_t rows = of_keys ? call.seqlen_q * call.group() : call.seqlen_k;
  const int64_t of_head = rows * (call.head_dim + call.head_dim_v) * dtype_bytes(call.dtype);
  const bool fits = call.batch * call.heads_k * of_head <= device.shared_cache_bytes / 2;
  turns.dealing = fits || tiles <= kFewTiles ? RAPT_DEAL_SNAKE : RAPT_DEAL_PAIRS;
  const int64_t section = fits ? heads : tiles <= kFewTiles ? kSection / of_head : 1 + tiles % 2;
  turns.heads_at_once = static_cast<int32_t>(std::clamp<int64_t>(section, 1, std::max<int64_t>(heads, 1)));
  return turns;
}

int64_t padded_rows(int64_t seqlen_q) { return (seqlen_q + kMostStep - 1) / kMostStep * kMostStep; }

// Heads of k whose queries and sums of dq fit two thirds of the cache. Sections have as equally many heads as can be.
int32_t heads_at_once(const BackwardCall& call, int64_t bytes_of_sums, const Device& device) {
  const int64_t bytes = (call.head_dim + call.head_dim_v) * dtype_bytes(call.dtype) + bytes_of_sums;
  const int64_t of_head = padded_rows(call.seqlen_q) * call.group() * bytes;
  const int64_t fit = std::max<int64_t>(device.shared_cache_bytes * 2 / 3 / of_head, 1);
  const int64_t heads = std::max<int64_t>(call.heads_k * call.batch, 1), sections = (heads + fit - 1) / fit;
  return static_cast<int32_t>((heads + sections - 1) / sections);
}

// Where tiles are equally long, a section has a tile for each multiprocessor: dO and dq's sums of few heads are then in
// use at a time. Else the last section may be larger: its longest tiles then begin while there are others to compute
// beside them.
void plan_sections(rapt_hopper_backward_scores_args& all, const BackwardCall& call, const Pass& pass,
                   const Device& device) {
  rapt_hopper_backward_args& a = all.all;
  const int64_t tiles = std::max<int64_t>((call.seqlen_k + pass.lead->block_q - 1) / pass.lead->block_q, 1);
  const bool equal = call.right_side() < 0 && call.window_left < 0 && !call.cu_seqlens_q && !call.cu_seqlens_k;
  a.heads_at_once = equal ? static_cast<int32_t>(std::max<int64_t>(device.compute_units / tiles, 1))
                          : heads_at_once(call, pass.dq_sum_dims * int64_t{sizeof(float)}, device);
  const int64_t least = equal ? 1 : (2 * device.compute_units + tiles - 1) / tiles, heads = call.batch * call.heads_k;
  const int64_t sections_before = std::max<int64_t>(heads - least, 0) / a.heads_at_once;
  all.last_heads = static_cast<int32_t>(heads - sections_before * a.heads_at_once);
}

// Whether groups of warps have slices of queries of their own: all keys of a head must fit the tiles of kernels with
// three groups.
bool takes_slices(const Variant& v, const ForwardCall& call) {
  constexpr int32_t kWaves = 16;
  constexpr int64_t kMostKeys = 256;
  const bool whole = !call.cu_seqlens_q && !call.cu_seqlens_k && !call.has_cache && call.window_left < 0;
  return v.waves == kWaves && v.features == "plain" && whole && call.seqlen_k <= kMostKeys;
}

// A head is a part, or several parts where there are fewer heads than multiprocessors.
void cut_slices(rapt_hopper_forward_scores_args& a, const ForwardCall& call, int32_t keys, const Device& device) {
  const auto parts = [](int64_t count, int64_t size) { return (count + size - 1) / size; };
  const int64_t slices = parts(call.seqlen_q, kBlockRows), heads = call.batch * call.heads_q;
  const int64_t of_head = std::clamp<int64_t>(parts(device.compute_units, heads), 1, slices);
  const int64_t end = call.diagonal(call.seqlen_q, call.seqlen_k) + call.seqlen_q + call.window_right;
  const int64_t attended = call.window_right < 0 ? call.seqlen_k : std::clamp<int64_t>(end, 0, call.seqlen_k);
  a.slices.count = static_cast<int32_t>(parts(slices, of_head));
  a.slices.tiles = static_cast<int32_t>(std::max<int64_t>(parts(attended, keys), 1));
  a.slices.keys = keys;
  a.all.turns.tiles = static_cast<int32_t>(parts(slices, a.slices.count));
}

bool takes_narrow_tile(const Variant& v, const ForwardCall& call) {
  constexpr int32_t kWide = 256;
  const int64_t dims = std::max(call.head_dim, call.head_dim_v);
  return v.head_dim == kWide && v.features == "plain" && dims <= RAPT_NARROW_DIM && !call.has_cache;
}

}  // namespace

std::string hopper_refusal(const Variant& v, const Needs& n) {
  if (n.seqlen_k == 0) return "by tensor maps: there are no keys";
  if (n.alignment < 16)
    return cat("by tensor maps: tensors and rows must be aligned to 16 bytes, the problem's are to ", n.alignment);
  if (n.backwards) return "by tensor maps: strides must not be negative";
  if (n.head_dim % 8 != 0 || n.head_dim_v % 8 != 0) return "by tensor maps: head dims must be multiples of 8";
  if (n.seqlen_q == 0) return "by tensor maps: there are no queries";
  if (n.op == RAPT_FORWARD) return "";
  const bool sums = v.known->family == Family::hopper;
  if (n.packed && !sums) return "by tensor maps: without sums of dq the backward pass takes no packed sequences";
  const bool beside_sums = sums && v.known->stage != Stage::backward_fused;  // sees no scores
  if (n.wants(gradient::sink) && v.features == "plain" && !beside_sums)
    return "by tensor maps: plain kernels of the backward pass leave no statistics for the gradient of a sink";
  return "";
}

rapt_hopper_forward_scores_args hopper_forward_args(const ForwardCall& call, const PassKernel& kernel,
                                                    const Device& device) {
  const Variant& v = *kernel.variant;
  rapt_hopper_forward_scores_args arguments = {};
  rapt_hopper_forward_args& a = arguments.all;
  a.narrow = takes_narrow_tile(v, call);
  const bool slices = takes_slices(v, call);
  const int32_t keys = a.narrow ? RAPT_NARROW_KEYS : slices && call.window_right >= 0 ? RAPT_SLICE_KEYS : v.block_k;
  encode(a.q, "q", call, call.q, call.heads_q, true, call.head_dim, slices ? kBlockRows : v.block_q, device);
  encode(a.k, "k", call, call.k, call.heads_k, false, call.head_dim, keys, device);
  encode(a.v, "v", call, call.v, call.heads_k, false, call.head_dim_v, keys, device);
  a.turns = turns_of(call, kernel.tiles, false, device);
  if (slices) cut_slices(arguments, call, keys, device);
  if (call.has_cache) arguments.cache = cache_args(call);
  a.forward = forward_args(call, kernel, device);
  a.scale_inverse = 1 / a.forward.problem.scale_log2;
  if (v.features == "scores") add_scores(arguments.scores, call, a.forward.problem, v.block_q, v.block_k, device);
  return arguments;
}

int64_t hopper_rows(const Needs& n) {
  if (!n.packed) return n.batch * n.heads_q * padded_rows(n.seqlen_q);
  return n.heads_q * (n.rows_q / kMostStep + n.batch) * kMostStep;
}

void add_maps(rapt_hopper_backward_scores_args& all, const BackwardCall& call, const Pass& pass, const Device& device,
              char* workspace) {
  rapt_hopper_backward_args& a = all.all;
  const Variant& lead = *pass.lead;
  const auto of_q = [&](rapt_abi_tensor_map& map, const char* name, const View& view, int64_t dims, int32_t rows) {
    encode(map, name, call, view, call.heads_q, true, dims, rows, device);
  };
  const auto of_k = [&](rapt_abi_tensor_map& map, const char* name, const View& view, int64_t dims, int32_t rows) {
    encode(map, name, call, view, call.heads_k, false, dims, rows, device);
  };
  const bool fused = pass.kind == PassKind::fused;
  const int32_t queries = fused ? lead.block_k : kBlockRows, keys = fused ? lead.block_q : kBlockRows;
  of_q(a.q, "q", call.q, call.head_dim, queries);
  of_q(a.dout, "dout", call.dout, call.head_dim_v, queries);
  of_q(a.out, "out", call.out, call.head_dim_v, kBlockRows);
  of_q(a.dout_rows, "dout", call.dout, call.head_dim_v, kBlockRows);
  of_k(a.k, "k", call.k, call.head_dim, keys);
  of_k(a.v, "v", call.v, call.head_dim_v, keys);
  if (call.cu_seqlens_q == nullptr) {
    const int64_t rows = padded_rows(call.seqlen_q);
    a.backward.statistics.head = rows;
    a.backward.statistics.batch = rows * call.heads_q;
  }
  all.scores = {};
  if (lead.features == "scores") add_scores(all.scores, call, a.backward.problem, kBlockRows, kBlockRows, device);
  if (!fused) return;
  const WorkspaceLayout& w = pass.workspace;
  a.counters = reinterpret_cast<int32_t*>(workspace + w.counters);
  a.count = static_cast<int32_t>((w.bytes - w.counters) / sizeof(int32_t));
  a.added = reinterpret_cast<int32_t*>(workspace + w.added);
  a.in_order = pass.in_order;
  plan_sections(all, call, pass, device);
}

void set_turns(rapt_hopper_backward_args& a, const BackwardCall& call, const PassKernel& kernel, const Device& device) {
  a.turns = turns_of(call, kernel.tiles, kernel.stage() == Stage::backward_dkv, device);
}

}  // namespace rapt::gpu
