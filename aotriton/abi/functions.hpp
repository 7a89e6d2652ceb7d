// The functions of AOTriton's C++ interface that callers have been compiled to call, in the order of its releases.
#pragma once

#include "aotriton/abi/params.hpp"

namespace aotriton {

uint64_t getArchFromStream(ihipStream_t* stream);  // 0.4 to 0.9: vendor << 32 | number
uint64_t getGpuFromStream(ihipStream_t* stream);   // 0.10 on: vendor << 32 | number << 16
bool isArchExperimentallySupported(ihipStream_t* stream);
int getMultiProcessorCount(ihipStream_t* stream);
bool isArchTechPreview(ihipStream_t* stream);

namespace v2::flash {

// For AOTriton's tuning; never read.
struct FwdExtraArguments;
struct BwdExtraArguments;
struct FusedBwdExtraArguments;

Error check_gpu(Stream stream);

// 0.4
Error attn_fwd(T4 q, T4 k, T4 v, float scale, T2 lse, T4 out, float p, uint64_t seed, uint64_t offset,
               T4 encoded_softmax, bool causal, Stream stream);
Error attn_bwd(T4 q, T4 k, T4 v, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T2 lse, T2 delta, float p,
               uint64_t seed, uint64_t offset, bool causal, Stream stream);

// 0.5 and 0.6
Error attn_fwd(T4 q, T4 k, T4 v, T4 bias, float scale, T2 lse, T4 out, float p, uint64_t seed, uint64_t offset,
               T4 encoded_softmax, bool causal, Stream stream);
Error attn_bwd(T4 q, T4 k, T4 v, T4 bias, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse, T2 delta,
               float p, uint64_t seed, uint64_t offset, bool causal, Stream stream);

// 0.7 and 0.8
Error attn_fwd(T4 q, T4 k, T4 v, T4 bias, float scale, T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2,
               T0 seed_output, T0 offset_output, T4 encoded_softmax, bool causal, Stream stream,
               FwdExtraArguments* extra);
Error attn_fwd_compact_varlen(T4 q, T4 k, T4 v, T1 cu_q, T1 cu_k, int32_t max_q, int32_t max_k, T4 bias, float scale,
                              T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2, T0 seed_output,
                              T0 offset_output, T4 encoded_softmax, bool causal, Stream stream,
                              FwdExtraArguments* extra);

// 0.7 to 0.12
Error attn_bwd(T4 q, T4 k, T4 v, T4 bias, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse, T2 delta,
               float p, T0 seed, T0 offset1, int64_t offset2, bool causal, Stream stream, BwdExtraArguments* extra);
Error attn_bwd_compact_varlen(T4 q, T4 k, T4 v, T1 cu_q, T1 cu_k, int32_t max_q, int32_t max_k, T4 bias, float scale,
                              T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse, T2 delta, float p, T0 seed,
                              T0 offset1, int64_t offset2, bool causal, Stream stream, BwdExtraArguments* extra);

// 0.9 to 0.12; the counter is for AOTriton's kernels
Error attn_fwd(T4 q, T4 k, T4 v, T4 bias, float scale, T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2,
               T0 seed_output, T0 offset_output, T4 encoded_softmax, bool causal, T0 counter, Stream stream,
               FwdExtraArguments* extra);
Error attn_fwd_compact_varlen(T4 q, T4 k, T4 v, T4 bias, T1 cu_q, T1 cu_k, int32_t max_q, int32_t max_k, float scale,
                              T2 lse, T4 out, float p, T0 seed, T0 offset1, int64_t offset2, T0 seed_output,
                              T0 offset_output, T4 encoded_softmax, bool causal, T0 counter, Stream stream,
                              FwdExtraArguments* extra);
Error attn_bwd_fused(T4 q, T4 k, T4 v, T4 bias, float scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 dbias, T2 lse,
                     float p, T0 seed, T0 offset1, int64_t offset2, bool causal, Stream stream,
                     FusedBwdExtraArguments* extra);

// 0.9 on
Error debug_simulate_encoded_softmax(T4 signs, float p, T0 seed, T0 offset1, uint64_t offset2, Stream stream);

}  // namespace v2::flash

// 0.10 on
namespace v3::flash {

Error attn_fwd(const attn_fwd_params& params, int32_t version, Stream stream, const attn_options* options);
Error attn_bwd(const attn_bwd_params& params, int32_t version, Stream stream, const attn_options* options);

}  // namespace v3::flash

}  // namespace aotriton
