// A forward kernel as simple as the formulas, one thread a query: what the tests of everything around kernels launch.
// -DT=half|bf16|single -DTILE=64 -DNAME=symbol
#include <stdint.h>

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#include "kernels/abi.h"
#include "kernels/common/philox.h"

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

constexpr float kLog2E = 1.44269504f;

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
  const rapt_forward_args& a;
  int b, h, i, seqlen_k, off;

  __device__ bool seen(int j) const {
    if (a.window_left >= 0 && j < i + off - a.window_left) return false;
    if (a.window_right >= 0 && j > i + off + a.window_right) return false;
    if (!a.mask.data) return true;
    return static_cast<const uint8_t*>(
               a.mask.data)[b * a.mask.batch + h * a.mask.head + i * a.mask.query + j * a.mask.key] != 0;
  }
  template <class E>
  __device__ float logit(const E* q, const E* k, int j) const {
    float s = 0;
    for (int x = 0; x < a.head_dim; ++x) s += static_cast<float>(q[x]) * static_cast<float>(k[x]);
    s *= a.scale;
    if (a.softcap != 0) s = a.softcap * tanh(s / a.softcap);
    if (a.bias.data)
      s += typed(a.bias.data, b * a.bias.batch + h * a.bias.head + i * a.bias.query + j * a.bias.key, a.bias_dtype);
    if (a.alibi.data)
      s -= *reinterpret_cast<const float*>(reinterpret_cast<const char*>(a.alibi.data) + b * a.alibi.batch +
                                           h * a.alibi.head) *
           __builtin_fabsf(static_cast<float>(i + off - j));
    return s;
  }
  __device__ float kept(int j) const {
    if (a.keep_threshold >= 65536) return 1;
    const rapt_philox_bits bits =
        rapt_philox(a.dropout_seed, static_cast<uint32_t>(j) / 4, static_cast<uint32_t>(i) / 2,
                    static_cast<uint32_t>(b * a.heads_q + h), a.dropout_offset);
    return rapt_philox_field(bits, static_cast<uint32_t>(i), static_cast<uint32_t>(j)) < a.keep_threshold ? a.keep_scale
                                                                                                          : 0;
  }
};

__device__ int clamped(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

template <class E>
__device__ void forward(const rapt_forward_args& a, int group, int thread) {
  const int tile = group % a.q_tiles, h = group / a.q_tiles % a.heads_q, b = group / a.q_tiles / a.heads_q;
  const int i = tile * 64 + thread;
  int first_q = 0, first_k = 0, seqlen_q = a.seqlen_q, seqlen_k = a.seqlen_k;
  if (a.cu_seqlens_q) {
    first_q = clamped(a.cu_seqlens_q[b], 0, a.total_q);
    seqlen_q = clamped(a.cu_seqlens_q[b + 1], first_q, a.total_q) - first_q;
  }
  if (a.cu_seqlens_k) {
    first_k = clamped(a.cu_seqlens_k[b], 0, a.total_k);
    seqlen_k = clamped(a.cu_seqlens_k[b + 1], first_k, a.total_k) - first_k;
  }
  if (i >= seqlen_q) return;
  const Row at{a, b, h, i, seqlen_k, a.top_left ? 0 : seqlen_k - seqlen_q};
  const E* q = row<E>(a.q, b, first_q + i, h);
  const int hk = h / a.group;
  const float nothing = -__builtin_inff();
  float sink = nothing;
  if (a.sink.data) sink = typed(a.sink.data, h * a.sink.head, a.sink_dtype);
  float most = sink;
  for (int j = 0; j < seqlen_k; ++j)
    if (at.seen(j)) {
      const float s = at.logit(q, row<E>(a.k, b, first_k + j, hk), j);
      most = s > most ? s : most;
    }
  float sum = most == nothing ? 0 : exp(sink - most);
  float out[TILE] = {};
  for (int j = 0; most != nothing && j < seqlen_k; ++j) {
    if (!at.seen(j)) continue;
    const float p = exp(at.logit(q, row<E>(a.k, b, first_k + j, hk), j) - most);
    sum += p;
    const float weight = p * at.kept(j);
    const E* v = row<E>(a.v, b, first_k + j, hk);
    for (int x = 0; x < a.head_dim_v; ++x) out[x] += weight * static_cast<float>(v[x]);
  }
  E* to = row<E>(a.out, b, first_q + i, h);
  for (int x = 0; x < a.head_dim_v; ++x) to[x] = E::of(sum == 0 ? 0 : out[x] / sum);
  if (a.lse.data)
    *reinterpret_cast<float*>(reinterpret_cast<char*>(a.lse.data) + b * a.lse.batch + h * a.lse.head +
                              (first_q + i) * a.lse.query) =
        sum == 0 ? nothing : most + __builtin_amdgcn_logf(sum) / kLog2E;
}

}  // namespace

extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(64, 64))) void NAME(rapt_forward_args a) {
  forward<T>(a, static_cast<int>(__builtin_amdgcn_workgroup_id_x()),
             static_cast<int>(__builtin_amdgcn_workitem_id_x()));
}
