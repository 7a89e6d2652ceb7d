// AOTriton's attention with plain arguments, of releases up to 0.12. PyTorch's code for these releases names the
// functions, but calls the ones of v3.
#ifndef RAPT_INCLUDE_AOTRITON_V2_FLASH_H
#define RAPT_INCLUDE_AOTRITON_V2_FLASH_H

#include <aotriton/config.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

namespace AOTRITON_NS::v2::flash {

using T0 = TensorView<0>;
using T1 = TensorView<1>;
using T2 = TensorView<2>;
using T4 = TensorView<4>;

// Not read.
struct FwdExtraArguments;
struct BwdExtraArguments;
struct FusedBwdExtraArguments;

AOTRITON_API hipError_t attn_fwd(T4 q, T4 k, T4 v, T4 b, float sm_scale, T2 softmax_lse, T4 out, float dropout_p,
                                 T0 philox_seed, T0 philox_offset1, int64_t philox_offset2, T0 philox_seed_output,
                                 T0 philox_offset_output, T4 encoded_softmax, bool is_causal, T0 atomic_for_causal,
                                 Stream stream, FwdExtraArguments* extargs = nullptr);

AOTRITON_API hipError_t attn_fwd_compact_varlen(T4 q, T4 k, T4 v, T4 b, T1 cu_seqlens_q, T1 cu_seqlens_k,
                                                int32_t max_seqlen_q, int32_t max_seqlen_k, float sm_scale,
                                                T2 softmax_lse, T4 out, float dropout_p, T0 philox_seed,
                                                T0 philox_offset1, int64_t philox_offset2, T0 philox_seed_output,
                                                T0 philox_offset_output, T4 encoded_softmax, bool is_causal,
                                                T0 atomic_for_causal, Stream stream,
                                                FwdExtraArguments* extargs = nullptr);

AOTRITON_API hipError_t attn_bwd(T4 q, T4 k, T4 v, T4 b, float sm_scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 db,
                                 T2 softmax_lse, T2 delta, float dropout_p, T0 philox_seed, T0 philox_offset1,
                                 int64_t philox_offset2, bool is_causal, Stream stream,
                                 BwdExtraArguments* extargs = nullptr);

AOTRITON_API hipError_t attn_bwd_fused(T4 q, T4 k, T4 v, T4 b, float sm_scale, T4 out, T4 dout, T4 dq, T4 dk, T4 dv,
                                       T4 db, T2 softmax_lse, float dropout_p, T0 philox_seed, T0 philox_offset1,
                                       int64_t philox_offset2, bool is_causal, Stream stream,
                                       FusedBwdExtraArguments* extargs = nullptr);

AOTRITON_API hipError_t attn_bwd_compact_varlen(T4 q, T4 k, T4 v, T1 cu_seqlens_q, T1 cu_seqlens_k,
                                                int32_t max_seqlen_q, int32_t max_seqlen_k, T4 b, float sm_scale,
                                                T4 out, T4 dout, T4 dq, T4 dk, T4 dv, T4 db, T2 softmax_lse, T2 delta,
                                                float dropout_p, T0 philox_seed, T0 philox_offset1,
                                                int64_t philox_offset2, bool is_causal, Stream stream,
                                                BwdExtraArguments* extargs = nullptr);

}  // namespace AOTRITON_NS::v2::flash

#endif
