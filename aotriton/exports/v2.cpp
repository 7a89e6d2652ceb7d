// The functions of AOTriton 0.4 to 0.12 that take plain arguments, not a struct. Releases differ in the arguments, so
// each has a function of its own.
#include "aotriton/abi/functions.hpp"
#include "aotriton/exports/release.hpp"

namespace aotriton::v2::flash {

namespace {

using rapt::aot::BackwardCall, rapt::aot::DeviceNumber, rapt::aot::ForwardCall;

struct Lengths {
  T1 cu_q, cu_k;
  int32_t max_q = 0, max_k = 0;
};

struct Dropout {
  float probability;
  DeviceNumber seed, offset;
  bool in_memory;
};

struct Gradients {
  T4 dq, dk, dv, dbias;
};

Dropout dropout_by_value(float probability, uint64_t seed, uint64_t offset) {
  return {probability, {seed, nullptr}, {offset, nullptr}, false};
}

Dropout dropout_in_memory(float probability, T0 seed, T0 offset1, int64_t offset2) {
  return {probability, {0, seed.data_ptr()}, {static_cast<uint64_t>(offset2), offset1.data_ptr()}, true};
}

template <class Call>
Call common(const char* function, const T4& q, const T4& k, const T4& v, const T4& bias, const Lengths& lengths,
            float scale, const T2& lse, const T4& out, const Dropout& dropout, bool causal, Stream stream) {
  using v3::flash::kTopLeft;
  Call c;
  c.function = function;
  c.stream = stream.native();
  c.q = q;
  c.k = k;
  c.v = v;
  c.bias = bias;
  c.out = out;
  c.lse = lse;
  c.lse_form = rapt::aot::lse_form_of(rapt::aot::release());
  c.scale = scale;
  if (causal) c.causal = v3::flash::kWindow;
  c.window = {kTopLeft, kTopLeft};
  c.dropout = dropout.probability;
  c.seed = dropout.seed;
  c.offset = dropout.offset;
  c.seed_in_memory = dropout.in_memory;
  c.cu_seqlens_q = lengths.cu_q;
  c.cu_seqlens_k = lengths.cu_k;
  c.max_seqlen_q = lengths.max_q;
  c.max_seqlen_k = lengths.max_k;
  return c;
}

struct SeedOutputs {
  T0 seed, offset;
};

Error forward(ForwardCall c, const SeedOutputs& outputs, const T4& encoded_softmax) {
  c.seed_output = outputs.seed;
  c.offset_output = outputs.offset;
  c.encoded_softmax = encoded_softmax;
  return rapt::aot::forward(c);
}

Error backward(BackwardCall c, const T4& dout, const Gradients& gradients) {
  c.dout = dout;
  c.dq = gradients.dq;
  c.dk = gradients.dk;
  c.dv = gradients.dv;
  c.dbias = gradients.dbias;
  return rapt::aot::backward(c);
}

}  // namespace

// 0.4

Error attn_fwd(T4 q, T4 k, T4 v, float scale, T2 lse, T4 out, float p, uint64_t seed, uint64_t offset,
               T4 encoded_softmax, bool causal, Stream stream) {
  return forward(common<ForwardCall>("attn_fwd", q, k, v, {}, {}, scale, lse, out, dropout_by_value(p, seed, offset),
                                     causal, stream),
                 {}, encoded_softmax);
}

Error attn_bwd(T4 q, T4 k, T4 v, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T2 lse, T2, float p, uint64_t seed,
               uint64_t offset, bool causal, Stream stream) {
  return backward(common<BackwardCall>("attn_bwd", q, k, v, {}, {}, scale, lse, out, dropout_by_value(p, seed, offset),
                                       causal, stream),
                  dout, {dq, dk, dv, {}});
}

// 0.5 and 0.6

Error attn_fwd(T4 q, T4 k, T4 v, T4 bias, float scale, T2 lse, T4 out, float p, uint64_t seed, uint64_t offset,
               T4 encoded_softmax, bool causal, Stream stream) {
  return forward(common<ForwardCall>("attn_fwd", q, k, v, bias, {}, scale, lse, out, dropout_by_value(p, seed, offset),
                                     causal, stream),
                 {}, encoded_softmax);
}

Error attn_bwd(T4 q, T4 k, T4 v, T4 bias, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse, T2,
               float p, uint64_t seed, uint64_t offset, bool causal, Stream stream) {
  return backward(common<BackwardCall>("attn_bwd", q, k, v, bias, {}, scale, lse, out,
                                       dropout_by_value(p, seed, offset), causal, stream),
                  dout, {dq, dk, dv, dbias});
}

// 0.7 and 0.8; attn_bwd and attn_bwd_compact_varlen up to 0.12

Error attn_fwd(T4 q, T4 k, T4 v, T4 bias, float scale, T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2,
               T0 seed_output, T0 offset_output, T4 encoded_softmax, bool causal, Stream stream, FwdExtraArguments*) {
  return forward(common<ForwardCall>("attn_fwd", q, k, v, bias, {}, scale, lse, out,
                                     dropout_in_memory(p, seed, offset1, offset2), causal, stream),
                 {seed_output, offset_output}, encoded_softmax);
}

Error attn_fwd_compact_varlen(T4 q, T4 k, T4 v, T1 cu_q, T1 cu_k, int32_t max_q, int32_t max_k, T4 bias, float scale,
                              T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2, T0 seed_output,
                              T0 offset_output, T4 encoded_softmax, bool causal, Stream stream, FwdExtraArguments*) {
  return forward(common<ForwardCall>("attn_fwd_compact_varlen", q, k, v, bias, {cu_q, cu_k, max_q, max_k}, scale, lse,
                                     out, dropout_in_memory(p, seed, offset1, offset2), causal, stream),
                 {seed_output, offset_output}, encoded_softmax);
}

Error attn_bwd(T4 q, T4 k, T4 v, T4 bias, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse, T2,
               float p, T0 seed, T0 offset1, int64_t offset2, bool causal, Stream stream, BwdExtraArguments*) {
  return backward(common<BackwardCall>("attn_bwd", q, k, v, bias, {}, scale, lse, out,
                                       dropout_in_memory(p, seed, offset1, offset2), causal, stream),
                  dout, {dq, dk, dv, dbias});
}

Error attn_bwd_compact_varlen(T4 q, T4 k, T4 v, T1 cu_q, T1 cu_k, int32_t max_q, int32_t max_k, T4 bias, float scale,
                              T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse, T2, float p, T0 seed, T0 offset1,
                              int64_t offset2, bool causal, Stream stream, BwdExtraArguments*) {
  return backward(common<BackwardCall>("attn_bwd_compact_varlen", q, k, v, bias, {cu_q, cu_k, max_q, max_k}, scale, lse,
                                       out, dropout_in_memory(p, seed, offset1, offset2), causal, stream),
                  dout, {dq, dk, dv, dbias});
}

// 0.9 to 0.12; the counter is for AOTriton's kernels

Error attn_fwd(T4 q, T4 k, T4 v, T4 bias, float scale, T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2,
               T0 seed_output, T0 offset_output, T4 encoded_softmax, bool causal, T0, Stream stream,
               FwdExtraArguments* extra) {
  return attn_fwd(q, k, v, bias, scale, lse, out, p, seed, offset1, offset2, seed_output, offset_output,
                  encoded_softmax, causal, stream, extra);
}

Error attn_fwd_compact_varlen(T4 q, T4 k, T4 v, T4 bias, T1 cu_q, T1 cu_k, int32_t max_q, int32_t max_k, float scale,
                              T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2, T0 seed_output,
                              T0 offset_output, T4 encoded_softmax, bool causal, T0, Stream stream,
                              FwdExtraArguments* extra) {
  return attn_fwd_compact_varlen(q, k, v, cu_q, cu_k, max_q, max_k, bias, scale, lse, out, p, seed, offset1, offset2,
                                 seed_output, offset_output, encoded_softmax, causal, stream, extra);
}

Error attn_bwd_fused(T4 q, T4 k, T4 v, T4 bias, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse,
                     float p, T0 seed, T0 offset1, int64_t offset2, bool causal, Stream stream,
                     FusedBwdExtraArguments*) {
  return backward(common<BackwardCall>("attn_bwd_fused", q, k, v, bias, {}, scale, lse, out,
                                       dropout_in_memory(p, seed, offset1, offset2), causal, stream),
                  dout, {dq, dk, dv, dbias});
}

Error debug_simulate_encoded_softmax(T4 signs, float p, T0 seed, T0 offset1, uint64_t offset2, Stream stream) {
  return rapt::aot::encode_dropout("debug_simulate_encoded_softmax", signs, p, {0, seed.data_ptr()},
                                   {offset2, offset1.data_ptr()}, stream.native());
}

}  // namespace aotriton::v2::flash
