// Validation of a forward or backward call: everything is checked before anything is written.
#include <cmath>
#include <cstring>

#include "kernels/common/philox.h"
#include "problem/options.hpp"
#include "problem/validate_parts.hpp"

namespace rapt {

namespace {

// Empty tensors may have null data, but their views must be non-null to show that they were given.
template <class AnyView>
void keep_asked_for(AnyView& view) {
  static char nothing;
  if (view.data == nullptr) view.data = &nothing;
}

View view4(const Tensor& t) { return {t.data, t.stride[0], t.stride[1], t.stride[2]}; }
View view3(const Tensor& t) { return {t.data, 0, t.stride[0], t.stride[1]}; }

// [batch, seqlen, heads, head_dim], or [total, heads, head_dim] if packed.
const Tensor* rows_tensor(Validator& v, const char* name, const rapt_tensor* given, bool packed) {
  const Tensor* t = v.tensor(name, given, packed ? 3 : 4, packed ? 3 : 4);
  if (t) v.contiguous_rows(*t);
  return t;
}

// Adds a number in host memory; returns the address of one in device memory.
const int32_t* add_number(Validator& v, const char* name, const rapt_tensor* given, uint64_t& to) {
  if (given == nullptr) return nullptr;
  const Tensor* t = v.tensor(name, given, 0, 1, Validator::Place::call_device_or_host);
  if (!t || !v.dtype(*t, {{RAPT_INT, 64, 1}, {RAPT_UINT, 64, 1}})) return nullptr;
  if (t->ndim == 1 && !v.shape(*t, {1}, "[1]")) return nullptr;
  v.read(*t);
  if (t->device.type != RAPT_CPU) return reinterpret_cast<const int32_t*>(t->data);
  uint64_t number;
  std::memcpy(&number, t->data, sizeof number);
  to += number;
  return nullptr;
}

void add_dropout(Validator& v, const rapt_dropout& d, Call& call) {
  call.dropout_seed = d.seed;
  call.dropout_offset = d.offset;
  call.dropout_seed_data = add_number(v, "dropout.seed_tensor", d.seed_tensor, call.dropout_seed);
  call.dropout_offset_data = add_number(v, "dropout.offset_tensor", d.offset_tensor, call.dropout_offset);
  if (call.dropout_seed_data || call.dropout_offset_data) return;
  call.dropout_seed = rapt_philox_key(call.dropout_seed, call.dropout_offset);
  call.dropout_offset = static_cast<uint32_t>(call.dropout_offset);
}

void add_options(Validator& v, const rapt_attention& a, Call& call) {
  read_options(a, call);
  check_options(call, v.bad);
  call.scale = call.scale_or_default();
  // A position plus a window must not overflow; no tensor is this long.
  constexpr int64_t kWidest = int64_t{1} << 60;
  call.window_left = std::min(call.window_left, kWidest);
  call.window_right = std::min(call.right_side(), kWidest);
  if (a.dropout) add_dropout(v, read_versioned("dropout", a.dropout), call);
}

// q, k and v; leaves the sizes in `call`. k and v may be a cache.
bool check_qkv(Validator& v, const rapt_attention& a, Call& call, bool packed_q, bool packed_k, CallTensors& t) {
  t.q = rows_tensor(v, "q", a.q, packed_q);
  t.k = rows_tensor(v, "k", a.k, packed_k);
  t.v = rows_tensor(v, "v", a.v, packed_k);
  if (!t.q || !t.k || !t.v) return false;
  call.device = *v.call_device;
  if (!v.dtype(*t.q,
               {dtype_code(DType::fp32), dtype_code(DType::bf16), dtype_code(DType::fp16), dtype_code(DType::fp64)}))
    return false;
  call.dtype = *dtype_from(t.q->dtype);
  v.dtype(*t.k, {t.q->dtype});
  v.dtype(*t.v, {t.q->dtype});
  const int64_t* q = t.q->shape + (packed_q ? 0 : 1);  // [seqlen or total, heads, head_dim]
  const int64_t* k = t.k->shape + (packed_k ? 0 : 1);
  const int64_t* value = t.v->shape + (packed_k ? 0 : 1);
  call.batch = packed_q ? 0 : t.q->shape[0];
  call.seqlen_q = q[0];
  call.seqlen_k = k[0];
  call.heads_q = q[1];
  call.heads_k = k[1];
  call.head_dim = q[2];
  call.head_dim_v = value[2];
  call.total_q = packed_q ? q[0] : 0;
  call.total_k = packed_k ? k[0] : 0;
  if (call.heads_q < 1) v.bad.add("q has 0 heads, must have at least 1");
  if (call.heads_k < 1) v.bad.add("k has 0 heads, must have at least 1");
  else if (call.heads_q % call.heads_k != 0)
    v.bad.add(cat("q has ", call.heads_q, " heads, must be a multiple of k's ", call.heads_k));
  for (const auto& [name, dim] : {std::pair{"q", call.head_dim}, std::pair{"v", call.head_dim_v}})
    if (dim < 1 || dim > kMaxHeadDim) v.bad.add(cat(name, " has head_dim ", dim, ", must be in 1 to ", kMaxHeadDim));
  if (k[2] != call.head_dim) v.bad.add(cat("k has head_dim ", k[2], ", must be q's ", call.head_dim));
  if (value[1] != call.heads_k) v.bad.add(cat("v has ", value[1], " heads, must have k's ", call.heads_k));
  if (value[0] != k[0]) v.bad.add(cat("v has ", value[0], " rows, must have k's ", k[0]));
  if (!packed_k && t.v->shape[0] != t.k->shape[0])
    v.bad.add(cat("v has batch ", t.v->shape[0], ", must have k's ", t.k->shape[0]));
  call.q = packed_q ? view3(*t.q) : view4(*t.q);
  call.k = packed_k ? view3(*t.k) : view4(*t.k);
  call.v = packed_k ? view3(*t.v) : view4(*t.v);
  return v.bad.empty();
}

Call check_attention(Validator& v, const rapt_attention* given, CallTensors& t) {
  const rapt_attention a = read_versioned("attention", given);
  Call call;
  rapt_varlen varlen = {};
  if (a.varlen) varlen = read_versioned("varlen", a.varlen);
  t.packed_q = varlen.cu_seqlens_q != nullptr;
  t.packed_k = varlen.cu_seqlens_k != nullptr;
  if (a.varlen && !t.packed_q) v.bad.add("varlen.cu_seqlens_q is null");
  if (a.varlen && !t.packed_k && !a.kv_cache) v.bad.add("varlen.cu_seqlens_k is null, which only a kv_cache allows");
  if (t.packed_k && a.kv_cache)
    v.bad.add("varlen.cu_seqlens_k is given with a kv_cache: give the lengths as kv_cache.seqused_k");
  v.bad.throw_if_any();
  if (!check_qkv(v, a, call, t.packed_q, t.packed_k, t)) v.bad.throw_if_any();
  add_options(v, a, call);
  if (a.varlen) check_varlen(v, varlen, t, call);
  if (a.kv_cache) check_cache(v, read_versioned("kv_cache", a.kv_cache), t, call);
  else if (!t.packed_k && t.k->shape[0] != call.batch)
    v.bad.add(cat("k has batch ", t.k->shape[0], ", must have q's ", call.batch));
  v.bad.throw_if_any();
  const auto scores = [&](const char* name, const rapt_tensor* tensor, ScoreView& view) {
    if (!tensor) return;
    check_scores(v, name, tensor, call, view);
    keep_asked_for(view);
  };
  scores("bias", a.bias, call.bias);
  scores("mask", a.mask, call.mask);
  if (a.alibi_slopes) check_alibi(v, a.alibi_slopes, call);
  if (a.sink) check_sink(v, "sink", a.sink, call, call.sink);
  v.read(*t.q);
  if (!call.new_keys.k) {
    v.read(*t.k);
    v.read(*t.v);
  }
  return call;
}

enum class Access { read, write };

View check_rows(Validator& v, const char* name, const rapt_tensor* given, const Call& call, const Tensor& like,
                int64_t dim, Access access) {
  const bool packed = like.ndim == 3;
  const Tensor* t = rows_tensor(v, name, given, packed);
  if (!t) return {};
  v.dtype(*t, {dtype_code(call.dtype)});
  if (packed) v.shape(*t, {like.shape[0], like.shape[1], dim}, "[total, heads, head_dim]");
  else v.shape(*t, {like.shape[0], like.shape[1], like.shape[2], dim}, "[batch, seqlen, heads, head_dim]");
  access == Access::write ? v.written(*t) : v.read(*t);
  return packed ? view3(*t) : view4(*t);
}

LseView check_lse(Validator& v, const rapt_tensor* given, const Call& call, bool packed, Access access) {
  const Tensor* t = v.tensor("lse", given, packed ? 2 : 3, packed ? 2 : 3);
  if (!t) return {};
  v.dtype(*t, {dtype_code(call.dtype == DType::fp64 ? DType::fp64 : DType::fp32)});
  if (packed) v.shape(*t, {call.heads_q, call.total_q}, "[heads_q, total_q]");
  else v.shape(*t, {call.batch, call.heads_q, call.seqlen_q}, "[batch, heads_q, seqlen_q]");
  access == Access::write ? v.written(*t) : v.read(*t);
  if (packed) return {t->data, 0, t->stride[0], t->stride[1]};
  return {t->data, t->stride[0], t->stride[1], t->stride[2]};
}

// The tensors' properties that the problem records: which are given, and their layout.
class Layout {
 public:
  explicit Layout(Call& call) : call_(call) {}

  void add(const View& view, int64_t heads, int64_t dim) {
    if (!view) return;
    const int64_t bytes = dtype_bytes(call_.dtype);
    const auto places = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(view.data)) |
                        static_cast<uint64_t>((view.batch | view.seq | view.head) * bytes);
    places_ |= places;
    if (view.batch < 0 || view.seq < 0 || view.head < 0) call_.backwards = true;
    const int64_t stride = view.seq < 0 ? -view.seq : view.seq;
    if (stride > heads * dim) call_.row_stride = std::max(call_.row_stride, stride);
  }

  // Rows of a bias or mask are along the keys. Where the keys are not neighbours in memory, each element is a row.
  void add(const ScoreView& view, int64_t bytes) {
    if (!view) return;
    const int64_t key = view.key == 1 ? 0 : 1;
    places_ |= static_cast<uint64_t>(reinterpret_cast<uintptr_t>(view.data)) |
               static_cast<uint64_t>((view.batch | view.head | view.query | key) * bytes);
    if (view.batch < 0 || view.head < 0 || view.query < 0) call_.backwards = true;
  }

  void finish() const {
    const uint64_t aligned = places_ == 0 ? 16 : places_ & ~(places_ - 1);  // its lowest bit
    call_.alignment = static_cast<int64_t>(std::min<uint64_t>(aligned, 16));
    const auto shape = [](const ScoreView& view) -> std::optional<int32_t> {
      if (!view) return std::nullopt;
      return (view.batch ? RAPT_PER_BATCH : 0) | (view.head ? RAPT_PER_HEAD : 0) | (view.query ? RAPT_PER_QUERY : 0);
    };
    call_.bias_shape = shape(call_.bias);
    call_.mask_shape = shape(call_.mask);
    call_.bias_fp32 = call_.bias && call_.bias.dtype == DType::fp32 && call_.dtype != DType::fp32;
    call_.has_alibi = static_cast<bool>(call_.alibi);
    call_.has_sink = static_cast<bool>(call_.sink);
    if (!call_.cu_seqlens_q || call_.device_lengths) return;
    for (int64_t b = 0; b < call_.batch; ++b) {
      const Sequence s = sequence(call_, b);
      call_.varlen.emplace_back(s.seqlen_q, s.seqlen_k);
    }
  }

 private:
  Call& call_;
  uint64_t places_ = 0;
};

// By sizes: a bias may be broadcast by strides of 0, but all elements of its gradient are written.
int32_t shape_of_gradient(const ScoreView& view) {
  return (view.shape[0] != 1 ? RAPT_PER_BATCH : 0) | (view.shape[1] != 1 ? RAPT_PER_HEAD : 0) |
         (view.shape[2] != 1 ? RAPT_PER_QUERY : 0);
}

Layout layout_of(Call& call) {
  Layout layout(call);
  layout.add(call.q, call.heads_q, call.head_dim);
  layout.add(call.k, call.heads_k, call.head_dim);
  layout.add(call.v, call.heads_k, call.head_dim_v);
  layout.add(call.bias, dtype_bytes(call.bias.dtype));
  layout.add(call.mask, 1);
  return layout;
}

}  // namespace

ForwardCall validate(const rapt_forward_call& given) {
  const rapt_forward_call c = read_versioned("call", &given);
  Validator v;
  CallTensors t;
  ForwardCall call{check_attention(v, c.attention, t), {}, {}};
  call.out = check_rows(v, "out", c.out, call, *t.q, call.head_dim_v, Access::write);
  if (c.lse) {
    call.lse = check_lse(v, c.lse, call, t.packed_q, Access::write);
    keep_asked_for(call.lse);
  }
  v.aliasing();
  v.bad.throw_if_any();
  call.wants_lse = static_cast<bool>(call.lse);
  Layout layout = layout_of(call);
  layout.add(call.out, call.heads_q, call.head_dim_v);
  layout.finish();
  return call;
}

BackwardCall validate(const rapt_backward_call& given) {
  const rapt_backward_call c = read_versioned("call", &given);
  if (c.attention && c.attention->struct_size >= sizeof(rapt_attention) && c.attention->kv_cache)
    throw Error(RAPT_UNSUPPORTED, "attention.kv_cache is given, the backward pass takes no cache");
  Validator v;
  CallTensors t;
  BackwardCall call;
  static_cast<Call&>(call) = check_attention(v, c.attention, t);
  call.out = check_rows(v, "out", c.out, call, *t.q, call.head_dim_v, Access::read);
  call.dout = check_rows(v, "dout", c.dout, call, *t.q, call.head_dim_v, Access::read);
  call.lse = check_lse(v, c.lse, call, t.packed_q, Access::read);
  const auto gradient = [&](const char* name, const rapt_tensor* tensor, const Tensor& like, int64_t dim, View& view) {
    if (!tensor) return;
    view = check_rows(v, name, tensor, call, like, dim, Access::write);
    keep_asked_for(view);
  };
  gradient("dq", c.dq, *t.q, call.head_dim, call.dq);
  gradient("dk", c.dk, *t.k, call.head_dim, call.dk);
  gradient("dv", c.dv, *t.v, call.head_dim_v, call.dv);
  if (c.dbias && !call.bias) v.bad.add("dbias is given without a bias");
  else if (c.dbias) {
    check_scores(v, "dbias", c.dbias, call, call.dbias);
    if (!std::equal(call.dbias.shape, call.dbias.shape + 4, call.bias.shape))
      v.bad.add(cat("dbias has shape ", shape_text(call.dbias.shape, 4), ", must be bias's ",
                    shape_text(call.bias.shape, 4)));
    keep_asked_for(call.dbias);
  }
  if (c.dsink && !call.sink) v.bad.add("dsink is given without a sink");
  else if (c.dsink) check_sink(v, "dsink", c.dsink, call, call.dsink);
  if (!c.dq && !c.dk && !c.dv && !c.dbias && !c.dsink)
    v.bad.add("dq, dk, dv, dbias and dsink are all null, at least one must be given");
  v.aliasing();
  v.bad.throw_if_any();
  call.gradients = (call.dq ? gradient::q : 0) | (call.dk ? gradient::k : 0) | (call.dv ? gradient::v : 0) |
                   (call.dbias ? gradient::bias : 0) | (call.dsink ? gradient::sink : 0);
  Layout layout = layout_of(call);
  for (const View* view : {&call.out, &call.dout}) layout.add(*view, call.heads_q, call.head_dim_v);
  layout.add(call.dq, call.heads_q, call.head_dim);
  layout.add(call.dk, call.heads_k, call.head_dim);
  layout.add(call.dv, call.heads_k, call.head_dim_v);
  layout.finish();
  if (call.dbias) call.bias_shape = shape_of_gradient(call.dbias);
  return call;
}

}  // namespace rapt
