// AOTriton's functions for attention, as libaotriton_v2.so of Rapt has them. docs/aotriton.md says what each argument
// means here.
//
// The structs differ between AOTriton's releases, and each says its kVersion. config.h has the release that is meant.
#ifndef RAPT_INCLUDE_AOTRITON_FLASH_H
#define RAPT_INCLUDE_AOTRITON_FLASH_H

#include <aotriton/config.h>
#include <aotriton/runtime.h>
#include <aotriton/util.h>

#if AOTRITON_VERSION_MINOR <= 12
#include <aotriton/v2/flash.h>
#endif

namespace AOTRITON_NS::v2::flash {

// hipSuccess if Rapt has kernels for the stream's GPU.
AOTRITON_API hipError_t check_gpu(Stream stream);

// +0.5 where dropout keeps an element of [batch, heads, seqlen_q, seqlen_k], -0.5 elsewhere.
AOTRITON_API hipError_t debug_simulate_encoded_softmax(TensorView<4> signs, float dropout_p, TensorView<0> philox_seed,
                                                       TensorView<0> philox_offset1, uint64_t philox_offset2,
                                                       Stream stream);

}  // namespace AOTRITON_NS::v2::flash

namespace AOTRITON_NS::v3::flash {

using T0 = TensorView<0>;
using T1 = TensorView<1>;
using T2 = TensorView<2>;
using T4 = TensorView<4>;
using LT2 = LazyTensor<2>;
using LT4 = LazyTensor<4>;

struct AOTRITON_API attn_options {
  int force_backend_index = -1;  // not read
#if AOTRITON_VERSION_MINOR >= 12
  bool deterministic = false;
#endif
};

struct AOTRITON_API CausalType {
  static constexpr int8_t None = 0;
  static constexpr int8_t WindowedAttention = 3;
};

// Values of window_left and window_right that stand for causality, aligned by each sequence's own lengths.
struct AOTRITON_API WindowValue {
  static constexpr int32_t TopLeftAligned = -2147483647;
  static constexpr int32_t BottomRightAligned = -2147483646;
};

#if AOTRITON_VERSION_MINOR < 14

struct AOTRITON_API VarlenType {
  static constexpr int8_t None = 0;
  static constexpr int8_t CompactVarlen = 1;  // packed: [1, heads, total, head_dim]
  static constexpr int8_t PaddedVarlen = 2;   // [batch, heads, longest, head_dim]
#if AOTRITON_VERSION_MINOR >= 12
  static constexpr int8_t StridedVarlen = 3;  // packed with gaps: seq_strides say where each sequence begins
#endif
};

#else

// How q's sequences, and k's, lie in memory: three choices for each side.
struct AOTRITON_API VarlenStacked {
  static constexpr uint32_t BHSD = 0;  // a sequence is an index of the batch
  static constexpr uint32_t THD = 1;   // all sequences are one after another: [1, heads, total, head_dim]
};
struct AOTRITON_API VarlenLength {           // of sequence z
  static constexpr uint32_t MAX = 0;         // Max_seqlen
  static constexpr uint32_t CUMULATIVE = 1;  // seqinfo_0[z + 1] - seqinfo_0[z]
  static constexpr uint32_t INDIVIDUAL = 2;  // seqinfo_0[z]
};
struct AOTRITON_API VarlenPosition {      // the first row of sequence z
  static constexpr uint32_t IMPLIED = 0;  // 0, or z * Max_seqlen if stacked
  static constexpr uint32_t REUSE = 1;    // seqinfo_0[z]
  static constexpr uint32_t ARRAY = 2;    // seqinfo_1[z]
};
struct AOTRITON_API VarlenLseLayout {
  static constexpr uint32_t HT = 0;  // [heads, total]
  static constexpr uint32_t TH = 1;  // [total, heads]
};

struct AOTRITON_API VarlenMode {
  uint8_t stacked : 1;
  uint8_t length : 2;
  uint8_t position : 2;
  uint8_t reserved : 3;
};
struct alignas(uint32_t) VarlenBits {
  VarlenMode qmode, kmode;
  uint16_t lse_layout : 2;
  uint16_t reserved : 14;
};
static_assert(sizeof(VarlenBits) == 4, "the library reads it as one 32-bit number");

#endif

struct AOTRITON_API attn_fwd_params {
  T4 Q, K, V;  // [batch, heads, seqlen, head_dim]
  T4 B;        // bias
  T2 A;        // not read
  float Sm_scale;
  T2 L;  // lse: natural logarithm
  T4 Out;
#if AOTRITON_VERSION_MINOR < 14
  T1 cu_seqlens_q, cu_seqlens_k;
  int32_t Max_seqlen_q = 0, Max_seqlen_k = 0;
#if AOTRITON_VERSION_MINOR >= 12
  T1 seq_strides_q, seq_strides_k;
#endif
#else
  T1 seqinfo_q0, seqinfo_k0;  // lengths
  int32_t Max_seqlen_q = 0, Max_seqlen_k = 0;
  T1 seqinfo_q1, seqinfo_k1;  // positions
#endif
  float dropout_p;
  T0 philox_seed_ptr, philox_offset1;
  uint64_t philox_offset2;  // added to *philox_offset1
  T0 philox_seed_output, philox_offset_output;
  T4 encoded_softmax;
  T0 persistent_atomic_counter;  // not read
  int8_t causal_type;
#if AOTRITON_VERSION_MINOR < 14
  int8_t varlen_type = 0;
#endif
  int32_t window_left, window_right;
#if AOTRITON_VERSION_MINOR >= 14
  VarlenBits varlen_bits = {};
  static constexpr int32_t kVersion = 4;
#elif AOTRITON_VERSION_MINOR >= 12
  static constexpr int32_t kVersion = 3;
#else
  static constexpr int32_t kVersion = 1;
#endif
  attn_fwd_params() {}
};

struct AOTRITON_API attn_bwd_params {
  T4 Q, K, V, B;
  float Sm_scale;
  T4 Out, DO, DK, DV, DQ, DB;
  T2 L;
  mutable LT2 D;  // not read
#if AOTRITON_VERSION_MINOR < 14
  T1 cu_seqlens_q, cu_seqlens_k;
  int32_t Max_seqlen_q = 0, Max_seqlen_k = 0;
#if AOTRITON_VERSION_MINOR >= 12
  T1 seq_strides_q, seq_strides_k;
#endif
#else
  T1 seqinfo_q0, seqinfo_k0;
  int32_t Max_seqlen_q = 0, Max_seqlen_k = 0;
  T1 seqinfo_q1, seqinfo_k1;
#endif
  float dropout_p;
  T0 philox_seed_ptr, philox_offset1;
  uint64_t philox_offset2;
  int8_t causal_type;
#if AOTRITON_VERSION_MINOR < 14
  int8_t varlen_type = 0;
#endif
  int32_t window_left, window_right;
  mutable LT4 DQ_ACC;  // not read
#if AOTRITON_VERSION_MINOR >= 14
  VarlenBits varlen_bits = {};
  static constexpr int32_t kVersion = 7;
#elif AOTRITON_VERSION_MINOR >= 12
  static constexpr int32_t kVersion = 6;
#else
  static constexpr int32_t kVersion = 3;
#endif
  attn_bwd_params() {}
};

// params_version is the struct's kVersion. Results are ready when the stream's work is done.
AOTRITON_API hipError_t attn_fwd(const attn_fwd_params& params, int32_t params_version, Stream stream,
                                 const attn_options* options = nullptr);
AOTRITON_API hipError_t attn_bwd(const attn_bwd_params& params, int32_t params_version, Stream stream,
                                 const attn_options* options = nullptr);

}  // namespace AOTRITON_NS::v3::flash

#endif
