// Attention of bf16 and head_dim 128 for CDNA. A wave has 32 queries: a lane owns one, and shares it with the lane 32
// further on. A workgroup steps over tiles of 64 keys, with K and V^T in LDS.
typedef unsigned uu2 __attribute__((ext_vector_type(2)));
typedef unsigned uu4 __attribute__((ext_vector_type(4)));

enum { dims = 128, keys = 64, waves = 8, threads = waves * 64 };
enum { key_bytes = dims * 2 + 16, dim_bytes = keys * 2 + 16 };  // rows of K and V^T in LDS, which begin at other banks
enum { key_parts = keys * dims * 2 / 16 / threads };            // of a thread: 16 bytes of K
enum { value_parts = keys / 4 * (dims / 4) / threads };         // of a thread: 4 keys by 4 dimensions of V
__shared__ __attribute__((aligned(16))) char lds[keys * key_bytes + dims * dim_bytes];

#define INLINE static __device__ __attribute__((always_inline)) inline

INLINE f16 multiply(s4 a, s4 b, f16 c) {
#if defined(__gfx908__)
  const s2 a0 = {a[0], a[1]}, a1 = {a[2], a[3]}, b0 = {b[0], b[1]}, b1 = {b[2], b[3]};
  c = __builtin_amdgcn_mfma_f32_32x32x4bf16(a0, b0, c, 0, 0, 0);
  return __builtin_amdgcn_mfma_f32_32x32x4bf16(a1, b1, c, 0, 0, 0);
#else
  return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0);
#endif
}
INLINE s4 half(uu4 v, int n) {
  const uu2 x = {v[2 * n], v[2 * n + 1]};
  return __builtin_bit_cast(s4, x);
}
INLINE unsigned pack(float a, float b) {
  return __builtin_amdgcn_perm(__builtin_bit_cast(unsigned, b), __builtin_bit_cast(unsigned, a), 0x07060302);
}
INLINE float of_other_half(int lane, float x) {
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((lane ^ 32) * 4, __builtin_bit_cast(int, x)));
}

// A thread's part of a tile on its way from memory to LDS.
struct Staged {
  uu4 k[key_parts];
  uu2 v[value_parts][4];

  INLINE void load(Staged& x, const char* k, const char* v, int first, int thread) {
#pragma unroll
    for (int i = 0; i < key_parts; i++) {
      const int c = i * threads + thread;
      x.k[i] = *(const uu4*)(k + (long)(first + c / (dims / 8)) * dims * 2 + c % (dims / 8) * 16);
    }
#pragma unroll
    for (int i = 0; i < value_parts; i++) {
      const int c = i * threads + thread, key = c / (dims / 4), dim = c % (dims / 4);
#pragma unroll
      for (int j = 0; j < 4; j++) x.v[i][j] = *(const uu2*)(v + (long)(first + key * 4 + j) * dims * 2 + dim * 8);
    }
  }
  INLINE void store(const Staged& x, int thread) {
#pragma unroll
    for (int i = 0; i < key_parts; i++) {
      const int c = i * threads + thread;
      *(uu4*)(lds + c / (dims / 8) * key_bytes + c % (dims / 8) * 16) = x.k[i];
    }
#pragma unroll
    for (int i = 0; i < value_parts; i++) {
      const int c = i * threads + thread, key = c / (dims / 4), dim = c % (dims / 4);
#pragma unroll
      for (int j = 0; j < 4; j++) {  // dimension dim * 4 + j of 4 keys
        const unsigned select = j & 1 ? 0x07060302u : 0x05040100u;
        const int word = j >> 1;
        const uu2 column = {__builtin_amdgcn_perm(x.v[i][1][word], x.v[i][0][word], select),
                            __builtin_amdgcn_perm(x.v[i][3][word], x.v[i][2][word], select)};
        *(uu2*)(lds + keys * key_bytes + (dim * 4 + j) * dim_bytes + key * 8) = column;
      }
    }
  }
};

INLINE void synchronise() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup", "local");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup", "local");
}

INLINE void multiply_keys(int lane, const uu4 (&q)[dims / 16], f16 (&s)[keys / 32]) {
#pragma unroll
  for (int b = 0; b < keys / 32; b++) {
    s[b] = (f16)(0.f);
#pragma unroll
    for (int c = 0; c < dims / 16; c++) {
      const uu4 k = *(uu4*)(lds + (b * 32 + lane % 32) * key_bytes + c * 32 + lane / 32 * 16);
      s[b] = multiply(half(k, 0), half(q[c], 0), s[b]);
      s[b] = multiply(half(k, 1), half(q[c], 1), s[b]);
    }
  }
}

// exp2 of the logits above a reference, which follows their maximum.
INLINE void probabilities(int lane, float scale, const f16 (&s)[keys / 32], float& reference, float& sum,
                          f16 (&o)[dims / 32], uu2 (&p)[keys / 8]) {
  float maximum = s[0][0];
#pragma unroll
  for (int b = 0; b < keys / 32; b++)
#pragma unroll
    for (int i = 0; i < 16; i++) maximum = __builtin_fmaxf(maximum, s[b][i]);
  maximum *= scale;
  if (__builtin_amdgcn_ballot_w64(maximum > reference + 8.f)) {
    const float next = __builtin_fmaxf(__builtin_fmaxf(maximum, of_other_half(lane, maximum)), reference);
    const float factor = __builtin_amdgcn_exp2f(reference - next);
    reference = next;
    sum *= factor;
#pragma unroll
    for (int d = 0; d < dims / 32; d++) o[d] *= factor;
  }
  float of_tile = 0;
#pragma unroll
  for (int b = 0; b < keys / 32; b++)
#pragma unroll
    for (int i = 0; i < 16; i += 4) {
      float e[4];
#pragma unroll
      for (int j = 0; j < 4; j++) {
        e[j] = __builtin_amdgcn_exp2f(__builtin_fmaf(s[b][i + j], scale, -reference));
        of_tile += e[j];
      }
      p[b * 4 + i / 4] = (uu2){pack(e[0], e[1]), pack(e[2], e[3])};
    }
  sum += of_tile;
}

INLINE void multiply_values(int lane, const uu2 (&p)[keys / 8], f16 (&o)[dims / 32]) {
  const char* const values = lds + keys * key_bytes;
#pragma unroll
  for (int d = 0; d < dims / 32; d++)
#pragma unroll
    for (int k = 0; k < keys / 8; k++) {
      const uu2 v = *(uu2*)(values + (d * 32 + lane % 32) * dim_bytes + k * 16 + lane / 32 * 8);
      o[d] = multiply(__builtin_bit_cast(s4, v), __builtin_bit_cast(s4, p[k]), o[d]);
    }
}

INLINE void store(char* out, float* lse, int lane, float reference, float sum, const f16 (&o)[dims / 32]) {
  sum += of_other_half(lane, sum);
  const float inverse = __builtin_amdgcn_rcpf(sum);
  if (lane < 32) lse[lane] = reference + __builtin_amdgcn_logf(sum);
#pragma unroll
  for (int d = 0; d < dims / 32; d++)
#pragma unroll
    for (int i = 0; i < 16; i += 4)
      *(uu2*)(out + lane % 32 * dims * 2 + (d * 32 + 8 * (i / 4) + 4 * (lane / 32)) * 2) =
          (uu2){pack(o[d][i] * inverse, o[d][i + 1] * inverse), pack(o[d][i + 2] * inverse, o[d][i + 3] * inverse)};
}

extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(threads, threads), amdgpu_waves_per_eu(2, 2)))
fwd(const char* __restrict__ q_rows, const char* __restrict__ k, const char* __restrict__ v, char* __restrict__ out,
    float* __restrict__ lse, int seqlen, float scale) {
  const int thread = TID, lane = thread & 63, wave = __builtin_amdgcn_readfirstlane(thread >> 6);
  const long head = (long)__builtin_amdgcn_workgroup_id_y() * seqlen;
  const long row = head + (__builtin_amdgcn_workgroup_id_x() * waves + wave) * 32;  // of the wave
  k += head * dims * 2;
  v += head * dims * 2;
  uu4 q[dims / 16];
#pragma unroll
  for (int c = 0; c < dims / 16; c++)
    q[c] = *(const uu4*)(q_rows + row * dims * 2 + lane % 32 * dims * 2 + c * 32 + lane / 32 * 16);
  f16 o[dims / 32];
#pragma unroll
  for (int d = 0; d < dims / 32; d++) o[d] = (f16)(0.f);
  float reference = -1e30f, sum = 0;
  for (int first = 0; first < seqlen; first += keys) {
    Staged tile;
    Staged::load(tile, k, v, first, thread);
    __builtin_amdgcn_s_barrier();
    Staged::store(tile, thread);
    synchronise();
    f16 s[keys / 32];
    multiply_keys(lane, q, s);
    uu2 p[keys / 8];
    probabilities(lane, scale, s, reference, sum, o, p);
    multiply_values(lane, p, o);
  }
  store(out + row * dims * 2, lse + row, lane, reference, sum, o);
}
