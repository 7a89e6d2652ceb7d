// A forward kernel as simple as the formulas, one thread per query, for tests of everything around kernels.
#include <stdint.h>

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#include "kernels/abi.h"
#include "kernels/common/philox.h"

#if defined(__GFX11__) || defined(__GFX12__)
constexpr int kThreads = RAPT_WAVES * 32, kBlockQ = RAPT_WAVES * 16;
#else
constexpr int kThreads = RAPT_WAVES * 64, kBlockQ = RAPT_WAVES * 32;
#endif

// Faults that tests must notice: results that are too large, work done several times.
#ifndef RAPT_TEST_FACTOR
#define RAPT_TEST_FACTOR 1
#endif
#ifndef RAPT_TEST_REPEAT
#define RAPT_TEST_REPEAT 1
#endif

namespace {

struct half {
  _Float16 value;
  __device__ operator float() const { return static_cast<float>(value); }
  __device__ static half of(float x) { return {static_cast<_Float16>(x)}; }
};
struct bf16 {
  uint16_t bits;
  __device__ operator float() const { return __builtin_bit_cast(float, static_cast<uint32_t>(bits) << 16); }
  __device__ static bf16 of(float x) {
    const uint32_t word = __builtin_bit_cast(uint32_t, x);
    return {static_cast<uint16_t>((word + 0x7fff + (word >> 16 & 1)) >> 16)};
  }
};
struct single {
  float value;
  __device__ operator float() const { return value; }
  __device__ static single of(float x) { return {x}; }
};

struct Types {
  using fp16 = half;
  using bf16 = ::bf16;
  using fp32 = single;
};
using Element = Types::RAPT_DTYPE;

constexpr float kLog2E = 1.44269504f;

// The arguments, each read where it is used: the whole struct would need many scalar registers.
__device__ const rapt_forward_args& arguments() {
  uint64_t at = reinterpret_cast<uint64_t>(__builtin_amdgcn_kernarg_segment_ptr());
  asm volatile("" : "+s"(at));
  return *(const rapt_forward_args*)(const rapt_forward_args __attribute__((address_space(4)))*)at;
}

__device__ float exp2(float x) { return __builtin_amdgcn_exp2f(x); }
__device__ float exp(float x) { return exp2(x * kLog2E); }
__device__ float tanh(float x) {
  const float e = exp(-2 * __builtin_fabsf(x));
  return __builtin_copysignf((1 - e) / (1 + e), x);
}

__device__ float typed(const void* data, int64_t offset, int dtype) {
  const char* at = static_cast<const char*>(data) + offset;
  if (dtype == RAPT_ABI_FP32) return *reinterpret_cast<const float*>(at);
  if (dtype == RAPT_ABI_FP16) return *reinterpret_cast<const half*>(at);
  return *reinterpret_cast<const bf16*>(at);
}

template <class E>
__device__ E* row(const rapt_abi_rows& rows, int64_t b, int64_t s, int64_t h) {
  return reinterpret_cast<E*>(static_cast<char*>(rows.data) + b * rows.batch + s * rows.seq + h * rows.head);
}

struct Row {
  int b, h, i, off;

  __device__ bool seen(int j) const {
    const rapt_forward_args& a = arguments();
    if (a.problem.window_left >= 0 && j < i + off - a.problem.window_left) return false;
    if (a.problem.window_right >= 0 && j > i + off + a.problem.window_right) return false;
    if (!RAPT_GENERAL || !a.problem.mask.data) return true;
    return static_cast<const uint8_t*>(a.problem.mask.data)[b * a.problem.mask.batch + h * a.problem.mask.head +
                                                            i * a.problem.mask.query + j * a.problem.mask.key] != 0;
  }
  __device__ float logit(const Element* q, const Element* k, int j) const {
    const rapt_forward_args& a = arguments();
    float s = 0;
    for (int x = 0; x < a.problem.head_dim; ++x) s += static_cast<float>(q[x]) * static_cast<float>(k[x]);
    s *= a.problem.scale;
    return RAPT_GENERAL ? changed(s, j) : s;
  }
  __device__ float changed(float s, int j) const {
    const rapt_forward_args& a = arguments();
    if (a.problem.softcap != 0) s = a.problem.softcap * tanh(s / a.problem.softcap);
    if (a.problem.bias.data)
      s += typed(a.problem.bias.data,
                 b * a.problem.bias.batch + h * a.problem.bias.head + i * a.problem.bias.query + j * a.problem.bias.key,
                 a.problem.bias_dtype);
    if (a.problem.alibi.data)
      s -= typed(a.problem.alibi.data, b * a.problem.alibi.batch + h * a.problem.alibi.head, RAPT_ABI_FP32) *
           __builtin_fabsf(static_cast<float>(i + off - j));
    return s;
  }
  static __device__ uint64_t number(const int32_t* halves) {
    return halves ? static_cast<uint64_t>(static_cast<uint32_t>(halves[1])) << 32 | static_cast<uint32_t>(halves[0])
                  : 0;
  }
  __device__ float kept(int j) const {
    const rapt_forward_args& a = arguments();
    if (!RAPT_GENERAL || a.problem.keep_threshold >= 65536) return 1;
    const uint64_t seed = a.problem.dropout_seed + number(a.problem.dropout_seed_data);
    const uint64_t offset = a.problem.dropout_offset + number(a.problem.dropout_offset_data);
    const rapt_philox_bits bits =
        rapt_philox(rapt_philox_key(seed, offset), static_cast<uint32_t>(j) / 4, static_cast<uint32_t>(i) / 2,
                    static_cast<uint32_t>(b * a.problem.heads_q + h), static_cast<uint32_t>(offset));
    const uint32_t field = rapt_philox_field(bits, static_cast<uint32_t>(i), static_cast<uint32_t>(j));
    return field < a.problem.keep_threshold ? a.problem.keep_scale : 0;
  }
};

__device__ int clamped(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

// Where a packed sequence begins, and its length.
__device__ void sequence(const int32_t* cu_seqlens, int b, int total, int& first, int& length) {
  if (!cu_seqlens) return;
  first = clamped(cu_seqlens[b], 0, total);
  length = clamped(cu_seqlens[b + 1], first, total) - first;
}

__device__ void forward(int group, int thread) {
  const rapt_forward_args& a = arguments();
  const int tile = group % a.q_tiles, h = group / a.q_tiles % a.problem.heads_q,
            b = group / a.q_tiles / a.problem.heads_q;
  const int i = tile * kBlockQ + thread;
  int first_q = 0, first_k = 0, seqlen_q = a.problem.seqlen_q, seqlen_k = a.problem.seqlen_k;
  sequence(a.problem.cu_seqlens_q, b, a.problem.total_q, first_q, seqlen_q);
  sequence(a.problem.cu_seqlens_k, b, a.problem.total_k, first_k, seqlen_k);
  if (thread >= kBlockQ || i >= seqlen_q) return;
  const Row at{b, h, i, a.problem.top_left ? 0 : seqlen_k - seqlen_q};
  const Element* q = row<Element>(a.q, b, first_q + i, h);
  const int hk = h / a.problem.group;
  const float nothing = -__builtin_inff();
  const float sink =
      a.problem.sink.data ? typed(a.problem.sink.data, h * a.problem.sink.head, a.problem.sink_dtype) : nothing;
  float most = sink;
  for (int j = 0; j < seqlen_k; ++j)
    if (at.seen(j)) {
      const float s = at.logit(q, row<Element>(arguments().k, b, first_k + j, hk), j);
      most = s > most ? s : most;
    }
  constexpr int kChunk = 32;  // columns of out at a time, in registers
  float sum = 0;
  for (int x = 0; x < arguments().problem.head_dim_v; x += kChunk) {
    float out[kChunk] = {};
    sum = most == nothing ? 0 : exp(sink - most);
    for (int j = 0; most != nothing && j < seqlen_k; ++j) {
      if (!at.seen(j)) continue;
      const float p = exp(at.logit(q, row<Element>(arguments().k, b, first_k + j, hk), j) - most);
      sum += p;
      const float weight = p * at.kept(j);
      const Element* v = row<Element>(arguments().v, b, first_k + j, hk);
#pragma unroll
      for (int y = 0; y < kChunk; ++y)
        if (x + y < arguments().problem.head_dim_v) out[y] += weight * static_cast<float>(v[x + y]);
    }
    Element* to = row<Element>(arguments().out, b, first_q + i, h);
#pragma unroll
    for (int y = 0; y < kChunk; ++y)
      if (x + y < arguments().problem.head_dim_v)
        to[x + y] = Element::of(sum == 0 ? 0 : out[y] / sum * RAPT_TEST_FACTOR);
  }
  const auto& lse = arguments().lse;
  if (lse.data)
    *reinterpret_cast<float*>(reinterpret_cast<char*>(lse.data) + b * lse.batch + h * lse.head +
                              (first_q + i) * lse.query) =
        sum == 0 ? nothing : most + __builtin_amdgcn_logf(sum) / kLog2E;
}

}  // namespace

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(kThreads, kThreads))) void RAPT_SYMBOL(
    rapt_forward_args) {
#pragma nounroll
  for (int i = 0; i < RAPT_TEST_REPEAT; ++i)
    forward(static_cast<int>(__builtin_amdgcn_workgroup_id_x()), static_cast<int>(__builtin_amdgcn_workitem_id_x()));
}
