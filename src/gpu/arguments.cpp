#include "gpu/arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/error.hpp"
#include "gpu/tensor_maps.hpp"
#include "kernels/common/philox.h"

namespace rapt::gpu {

namespace {

rapt_abi_rows rows(const View& view, int64_t bytes) {
  return {view.data, view.batch * bytes, view.seq * bytes, view.head * bytes};
}

rapt_abi_scores scores(const ScoreView& view, int64_t bytes) {
  if (!view) return {};
  return {view.data, view.batch * bytes, view.head * bytes, view.query * bytes, view.key * bytes};
}

int32_t abi_dtype(DType dtype) {
  return dtype == DType::fp16 ? RAPT_ABI_FP16 : dtype == DType::bf16 ? RAPT_ABI_BF16 : RAPT_ABI_FP32;
}

// A side at least as long as every sequence excludes nothing: unbounded, so that sums of positions fit in int32.
int32_t window_side(const Call& call, int64_t side) {
  return side < 0 || side >= std::max(call.seqlen_q, call.seqlen_k) ? -1 : static_cast<int32_t>(side);
}

std::string address_text(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", pointer);
  return text;
}

class PointerCheck {
 public:
  explicit PointerCheck(const Device& device) : driver_(*device.driver), device_(device) {}

  void operator()(const char* name, const void* data,
                  std::string_view hint = ": copy it there, or set its device to cpu") const {
    if (data == nullptr || right_.holds(data)) return;
    MemoryPlace place;
    if (const Status status = driver_.locate(data, place); status != Status::success)
      driver_.fail(status, cat("asking which memory ", name, " is in, at ", address_text(data)));
    if (place.kind == MemoryKind::unknown) {
      if (device_.reads_host_memory) return;
      throw Error(RAPT_INVALID_ARGUMENT, cat(name, " is at ", address_text(data), ", in host memory that ",
                                             device_.text(), " cannot read", hint));
    }
    if (place.kind == MemoryKind::device && place.device != device_.id.id)
      throw Error(RAPT_INVALID_ARGUMENT, cat(name, " is at ", address_text(data), ", in the memory of ",
                                             device_text({device_.id.type, place.device}), ", must be in that of ",
                                             device_.text(), " as it says"));
    right_ = place;
  }
  // Scalar loads, by which kernels read these numbers, take multiples of 4.
  void numbers(const char* name, const void* data) const {
    (*this)(name, data, ": copy it there");
    if (reinterpret_cast<uintptr_t>(data) % 4 != 0)
      throw Error(RAPT_INVALID_ARGUMENT, cat(name, " is at ", address_text(data), ", must be at a multiple of 4"));
  }

 private:
  Driver& driver_;
  const Device& device_;
  mutable MemoryPlace right_;  // where the last tensor is: a call's tensors often share an allocation
};

// How many heads of `rows` rows fit in half the cache, at least one; the other half is for data in flight.
int64_t fitting(const Call& call, int64_t rows, const Device& device) {
  const int64_t head_bytes = rows * (call.head_dim + call.head_dim_v) * dtype_bytes(call.dtype);
  return device.shared_cache_bytes / 2 / std::max<int64_t>(head_bytes, 1);
}

int32_t heads_at_once(const Call& call, const Device& device) {
  const int64_t fit = fitting(call, call.seqlen_k, device) * call.group();
  return static_cast<int32_t>(std::clamp<int64_t>(fit, 1, call.heads_q * call.batch));
}

// The same for heads of k: a workgroup reads the rows of all query heads that share its head.
int32_t key_heads_at_once(const Call& call, const Device& device) {
  const int64_t fit = fitting(call, call.seqlen_q * call.group(), device);
  return static_cast<int32_t>(std::clamp<int64_t>(fit, 1, call.heads_k * call.batch));
}

// The multiprocessors of an XCD if it matters which workgroups share one: a multiprocessor runs two or more at once,
// and the grid has at most two pairs for each. Otherwise 0, and also if heads are left over, which come first.
int32_t sharing_units(const Call& call, const PassKernel& kernel, const Device& device) {
  const bool pairs = kernel.variant->amd.occupancy * device.simds >= 2 * kernel.variant->waves;
  const bool few = kernel.workgroups <= int64_t{4} * device.multiprocessors;
  return pairs && few && call.heads_q * call.batch % device.xcds == 0 ? device.multiprocessors / device.xcds : 0;
}

// `a` is zeros.
void fill(rapt_abi_problem& a, const Call& call, const Device& device) {
  a.cu_seqlens_q = call.cu_seqlens_q;
  a.cu_seqlens_k = call.cu_seqlens_k;
  a.total_q = static_cast<int32_t>(call.total_q);
  a.total_k = static_cast<int32_t>(call.total_k);
  a.batch = static_cast<int32_t>(call.batch);
  a.heads_q = static_cast<int32_t>(call.heads_q);
  a.heads_k = static_cast<int32_t>(call.heads_k);
  a.group = static_cast<int32_t>(call.group());
  a.seqlen_q = static_cast<int32_t>(call.seqlen_q);
  a.seqlen_k = static_cast<int32_t>(call.seqlen_k);
  a.head_dim = static_cast<int32_t>(call.head_dim);
  a.head_dim_v = static_cast<int32_t>(call.head_dim_v);
  a.window_left = window_side(call, call.window_left);
  a.window_right = window_side(call, call.window_right);
  a.top_left = call.causal == RAPT_CAUSAL_TOP_LEFT || call.window_top_left;
  a.heads_at_once = a.window_right >= 0 ? heads_at_once(call, device) : 0;
  a.xcds = device.xcds;
  a.scale = static_cast<float>(call.scale);
  a.scale_log2 = call.scale_log2();
  a.softcap = static_cast<float>(call.softcap);
  a.bias = scores(call.bias, dtype_bytes(call.bias.dtype));
  a.bias_dtype = abi_dtype(call.bias.dtype);
  a.mask = scores(call.mask, 1);
  if (call.alibi)
    a.alibi = {reinterpret_cast<const float*>(call.alibi.data), call.alibi.batch * 4, call.alibi.head * 4};
  a.keep_threshold = rapt_keep_threshold(call.dropout);
  a.keep_scale = static_cast<float>(1 / (1 - call.dropout));
  a.dropout_offset = call.dropout_offset;
  a.dropout_seed = call.dropout_seed;
  a.dropout_seed_data = call.dropout_seed_data;
  a.dropout_offset_data = call.dropout_offset_data;
  if (call.sink) a.sink = {call.sink.data, call.sink.head * dtype_bytes(call.sink.dtype)};
  a.sink_dtype = abi_dtype(call.sink.dtype);
}

}  // namespace

rapt_forward_args forward_args(const ForwardCall& call, const PassKernel& kernel, const Device& device) {
  const int64_t bytes = dtype_bytes(call.dtype);
  rapt_forward_args a = {};
  a.size = sizeof a;
  a.q_tiles = kernel.tiles;
  a.q = rows(call.q, bytes);
  a.k = rows(call.k, bytes);
  a.v = rows(call.v, bytes);
  a.out = rows(call.out, bytes);
  if (call.lse)
    a.lse = {reinterpret_cast<float*>(call.lse.data), call.lse.batch * 4, call.lse.head * 4, call.lse.query * 4};
  fill(a.problem, call, device);
  if (a.problem.heads_at_once > 0) a.problem.units = sharing_units(call, kernel, device);
  return a;
}

namespace {

// Exact for numbers below 2^31. With 2^shift >= d, factor = ceil(2^(31 + shift) / d), whose relative error is below
// 2^-shift (Granlund and Montgomery, "Division by invariant integers using multiplication", 1994).
rapt_abi_divisor divisor(int64_t d) {
  d = std::max<int64_t>(d, 1);
  rapt_abi_divisor by = {};
  while (d > int64_t{1} << by.shift) ++by.shift;
  by.factor = static_cast<uint32_t>(((int64_t{1} << (31 + by.shift)) + d - 1) / d);
  return by;
}

}  // namespace

rapt_abi_cache cache_args(const Call& call) {
  rapt_abi_cache c = {};
  c.seqused = call.seqused_k;
  c.leftpad = call.leftpad_k;
  c.batch_idx = call.cache_batch_idx;
  c.block_table = call.block_table;
  c.block_table_row = call.block_table_row;
  c.batches = static_cast<int32_t>(call.cache_batches);
  c.page = static_cast<int32_t>(call.page);
  c.by_page = divisor(call.page);
  return c;
}

namespace {

rapt_abi_new_keys new_keys_args(const Call& call) {
  const NewKeys& from = call.new_keys;
  const int64_t bytes = dtype_bytes(call.dtype), rotary_bytes = dtype_bytes(from.rotary_dtype);
  rapt_abi_new_keys n = {};
  n.k = rows(from.k, bytes);
  n.v = rows(from.v, bytes);
  n.seqlen = static_cast<int32_t>(call.seqlen_new);
  n.rotary_dim = static_cast<int32_t>(call.rotary_dim);
  n.cos = {from.cos, from.cos_row * rotary_bytes};
  n.sin = {from.sin, from.sin_row * rotary_bytes};
  n.positions = static_cast<int32_t>(from.positions);
  n.rotary_dtype = abi_dtype(from.rotary_dtype);
  n.interleaved = call.rotary_interleaved;
  n.advances = call.window_left >= 0 || call.window_right >= 0;
  return n;
}

rapt_split_args split_args(const ForwardCall& call, const Pass& pass, const Device& device, char* workspace) {
  const int64_t bytes = dtype_bytes(call.dtype);
  rapt_split_args a = {};
  a.size = sizeof a;
  a.row_tiles = pass.kernels[0].tiles;
  a.splits = pass.splits;
  a.split_rows = pass.split_rows;
  a.by_row_tiles = divisor(a.row_tiles);
  a.by_splits = divisor(a.splits);
  a.by_split_rows = divisor(a.split_rows);
  a.by_heads_k = divisor(call.heads_k);
  a.by_group = divisor(call.group());
  a.by_heads_q = divisor(call.heads_q);
  a.by_seqlen_q = divisor(call.seqlen_q);
  a.q = rows(call.q, bytes);
  a.k = rows(call.k, bytes);
  a.v = rows(call.v, bytes);
  a.out = rows(call.out, bytes);
  if (call.lse)
    a.lse = {reinterpret_cast<float*>(call.lse.data), call.lse.batch * 4, call.lse.head * 4, call.lse.query * 4};
  if (call.has_cache) a.cache = cache_args(call);
  a.new_keys = new_keys_args(call);
  a.partial.dims = static_cast<int32_t>(partial_dims(call.head_dim_v));
  a.partial.natural = pass.lead->features == "general";
  if (pass.splits > 1) {
    a.partial.out = reinterpret_cast<float*>(workspace + pass.workspace.partial_out);
    a.partial.softmax = reinterpret_cast<rapt_abi_partial*>(workspace + pass.workspace.partial_softmax);
  }
  a.partial.out_dtype = abi_dtype(call.dtype);
  fill(a.problem, call, device);
  return a;
}

rapt_backward_args backward_args(const BackwardCall& call, const Pass& pass, const Device& device, char* workspace) {
  const int64_t bytes = dtype_bytes(call.dtype);
  const bool packed = call.cu_seqlens_q != nullptr;
  rapt_backward_args a = {};
  a.size = sizeof a;
  for (const auto& [to, from] : {std::pair{&a.q, &call.q},
                                 {&a.k, &call.k},
                                 {&a.v, &call.v},
                                 {&a.out, &call.out},
                                 {&a.dout, &call.dout},
                                 {&a.dq, &call.dq},
                                 {&a.dk, &call.dk},
                                 {&a.dv, &call.dv}})
    *to = rows(*from, bytes);
  a.lse = {reinterpret_cast<const float*>(call.lse.data), call.lse.batch * 4, call.lse.head * 4, call.lse.query * 4};
  const int64_t head = packed ? call.total_q : call.seqlen_q;
  a.statistics = {reinterpret_cast<rapt_abi_row_statistics*>(workspace + pass.workspace.statistics),
                  packed ? 0 : head * call.heads_q, head};
  if (pass.dq_sum_dims > 0) a.dq_sum = {reinterpret_cast<float*>(workspace + pass.workspace.dq_sum), pass.dq_sum_dims};
  if (call.dbias) {
    const rapt_abi_scores s = scores(call.dbias, dtype_bytes(call.dbias.dtype));
    a.dbias = {call.dbias.data, s.batch, s.head, s.query, s.key, {}};
    for (size_t i = 0; i < 4; ++i) a.dbias.sizes[i] = static_cast<int32_t>(call.dbias.shape[i]);
  }
  if (call.dsink) a.dsink = {call.dsink.data, call.dsink.head * dtype_bytes(call.dsink.dtype)};
  fill(a.problem, call, device);
  return a;
}

void set_stage(const BackwardCall& call, const PassKernel& kernel, const Device& device, rapt_backward_args& a) {
  a.tiles = kernel.tiles;
  const bool of_keys = kernel.stage() == Stage::backward_dkv || kernel.stage() == Stage::backward_fused ||
                       kernel.stage() == Stage::backward_short;
  if (a.problem.heads_at_once > 0)
    a.problem.heads_at_once = of_keys ? key_heads_at_once(call, device) : heads_at_once(call, device);
  const bool only_statistics =
      kernel.stage() == Stage::backward_dq && a.dq_sum.data != nullptr && kernel.variant->family() != Family::hopper;
  a.dq.data = only_statistics ? nullptr : call.dq.data;
}

}  // namespace

void fill(Arguments& a, const ForwardCall& call, const Pass& pass, const PassKernel& kernel, const Device& device,
          char* workspace) {
  if (pass.lead->known->hopper) a.hopper_forward = hopper_forward_args(call, kernel, device);
  else if (kernel.stage() == Stage::forward) a.forward = forward_args(call, kernel, device);
  else if (kernel.stage() == Stage::split) a.split = split_args(call, pass, device, workspace);
}

void fill(Arguments& a, const BackwardCall& call, const Pass& pass, const PassKernel& kernel, const Device& device,
          char* workspace) {
  if (kernel.variant == pass.kernels[0].variant) {
    a.backward.all.backward = backward_args(call, pass, device, workspace);
    if (pass.lead->known->hopper) add_maps(a.backward, call, pass, device, workspace);
  }
  set_stage(call, kernel, device, a.backward.all.backward);
  if (pass.lead->known->hopper && pass.kind == PassKind::apart) set_turns(a.backward.all, call, kernel, device);
}

namespace {

// Tensors without elements may be anywhere.
void check_scores(const PointerCheck& check, const char* name, const ScoreView& scores) {
  if (std::ranges::find(scores.shape, 0) == std::end(scores.shape)) check(name, scores.data);
}

void check_shared(const PointerCheck& check, const Call& call) {
  check("sink", call.sink.data);
  check_scores(check, "bias", call.bias);
  check_scores(check, "mask", call.mask);
  check("alibi_slopes", call.alibi.data);
  check.numbers("dropout.seed_tensor", call.dropout_seed_data);
  check.numbers("dropout.offset_tensor", call.dropout_offset_data);
  if (call.device_lengths) {
    check("varlen.cu_seqlens_q", call.cu_seqlens_q);
    check("varlen.cu_seqlens_k", call.cu_seqlens_k);
  }
  check.numbers("kv_cache.seqused_k", call.seqused_k);
  check.numbers("kv_cache.cache_batch_idx", call.cache_batch_idx);
  check.numbers("kv_cache.leftpad_k", call.leftpad_k);
  check.numbers("kv_cache.block_table", call.block_table);
  check("kv_cache.new_k", call.new_keys.k.data);
  check("kv_cache.new_v", call.new_keys.v.data);
  check("kv_cache.rotary_cos", call.new_keys.cos);
  check("kv_cache.rotary_sin", call.new_keys.sin);
}

bool has_queries(const Call& call) { return call.batch > 0 && (call.cu_seqlens_q ? call.total_q : call.seqlen_q) > 0; }
bool has_keys(const Call& call) { return call.batch > 0 && (call.cu_seqlens_k ? call.total_k : call.seqlen_k) > 0; }
void check_keys(const PointerCheck& check, const Call& call) {
  check("k", call.k.data);
  check("v", call.v.data);
}

}  // namespace

void check_workspace(const void* workspace, const Device& device) {
  const PointerCheck check(device);
  check("execution.workspace", workspace, "");
}

void check_pointers(const ForwardCall& call, const Device& device) {
  const PointerCheck check(device);
  check_shared(check, call);
  if (has_queries(call)) {
    check("q", call.q.data);
    check("out", call.out.data);
    check("lse", call.lse.data);
  }
  if (has_keys(call)) check_keys(check, call);
}

void check_pointers(const BackwardCall& call, const Device& device) {
  const PointerCheck check(device);
  check_shared(check, call);
  check("dsink", call.dsink.data);
  check_scores(check, "dbias", call.dbias);
  if (has_queries(call)) {
    check("q", call.q.data);
    check("out", call.out.data);
    check("lse", call.lse.data);
    check("dout", call.dout.data);
    check("dq", call.dq.data);
  }
  if (!has_keys(call)) return;
  check_keys(check, call);
  check("dk", call.dk.data);
  check("dv", call.dv.data);
}

}  // namespace rapt::gpu
