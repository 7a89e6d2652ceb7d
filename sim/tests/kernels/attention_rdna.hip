// Attention of fp16 and head_dim 128 for RDNA. A wave has 16 queries: a lane owns one, and shares it with the lane 16
// further on. A workgroup steps over tiles of 32 keys, with K and V^T in LDS. gfx11 stores the dimensions in another
// order (programs/attention.cpp).
typedef unsigned uu2 __attribute__((ext_vector_type(2)));
typedef unsigned uu4 __attribute__((ext_vector_type(4)));
typedef unsigned uu8 __attribute__((ext_vector_type(8)));

enum { dims = 128, keys = 32, waves = 8, threads = waves * 32 };
enum { key_bytes = dims * 2 + 16, dim_bytes = keys * 2 + 16 };  // rows of K and V^T in LDS, which begin at other banks
enum { key_parts = keys * dims / 8 / threads };                 // of a thread: 16 bytes of K
enum { value_parts = keys / 4 * (dims / 4) / threads };         // of a thread: 4 keys by 4 dimensions of V
__shared__ __attribute__((aligned(16))) char lds[keys * key_bytes + dims * dim_bytes];

#define INLINE static __device__ __attribute__((always_inline)) inline

// A fragment is 16 elements of a row: gfx11's lanes have them all, gfx12's a half.
#if defined(__GFX12__)
typedef uu4 Fragment;
INLINE f8 multiply(Fragment a, Fragment b, f8 c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(__builtin_bit_cast(h8, a), __builtin_bit_cast(h8, b), c);
}
INLINE Fragment fragment(const char* row, int half) { return *(const uu4*)(row + half * 16); }
#else
typedef uu8 Fragment;
INLINE f8 multiply(Fragment a, Fragment b, f8 c) {
  return __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(__builtin_bit_cast(h16, a), __builtin_bit_cast(h16, b), c);
}
INLINE Fragment fragment(const char* row, int) {
  const uu4 a = *(const uu4*)row, b = *(const uu4*)(row + 16);
  return (uu8){a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]};
}
#endif

INLINE unsigned of_other_half(unsigned old, unsigned x) {
  return __builtin_amdgcn_permlanex16(old, x, 0x76543210, 0xfedcba98, true, false);
}
INLINE float of_other_half(float x) {
  return __builtin_bit_cast(float, of_other_half(0, __builtin_bit_cast(unsigned, x)));
}
INLINE unsigned pack(float a, float b) { return __builtin_bit_cast(unsigned, __builtin_amdgcn_cvt_pkrtz(a, b)); }

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

INLINE void multiply_keys(int lane, const Fragment (&q)[dims / 16], f8 (&s)[keys / 16]) {
#pragma unroll
  for (int b = 0; b < keys / 16; b++) {
    s[b] = (f8)(0.f);
#pragma unroll
    for (int c = 0; c < dims / 16; c++)
      s[b] = multiply(fragment(lds + (b * 16 + lane % 16) * key_bytes + c * 32, lane / 16), q[c], s[b]);
  }
}

// A lane's 8 elements of a column as an operand. On gfx11 it has the other half's 8 too.
INLINE Fragment operand(int lane, const unsigned (&own)[4]) {
#if defined(__GFX12__)
  return (uu4){own[0], own[1], own[2], own[3]};
#else
  Fragment x;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const unsigned other = of_other_half(own[i], own[i]);
    x[i] = lane / 16 ? other : own[i];
    x[4 + i] = lane / 16 ? own[i] : other;
  }
  return x;
#endif
}

// exp2 of the logits above a reference, which follows their maximum.
INLINE void probabilities(int lane, float scale, const f8 (&s)[keys / 16], float& reference, float& sum,
                          f8 (&o)[dims / 16], Fragment (&p)[keys / 16]) {
  float maximum = s[0][0];
#pragma unroll
  for (int b = 0; b < keys / 16; b++)
#pragma unroll
    for (int i = 0; i < 8; i++) maximum = __builtin_fmaxf(maximum, s[b][i]);
  maximum *= scale;
  if (__builtin_amdgcn_ballot_w32(maximum > reference + 8.f)) {
    const float next = __builtin_fmaxf(__builtin_fmaxf(maximum, of_other_half(maximum)), reference);
    const float factor = __builtin_amdgcn_exp2f(reference - next);
    reference = next;
    sum *= factor;
#pragma unroll
    for (int d = 0; d < dims / 16; d++) o[d] *= factor;
  }
  float of_tile = 0;
#pragma unroll
  for (int b = 0; b < keys / 16; b++) {
    unsigned own[4];
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
      const float e0 = __builtin_amdgcn_exp2f(__builtin_fmaf(s[b][i], scale, -reference));
      const float e1 = __builtin_amdgcn_exp2f(__builtin_fmaf(s[b][i + 1], scale, -reference));
      of_tile += e0 + e1;
      own[i / 2] = pack(e0, e1);
    }
    p[b] = operand(lane, own);
  }
  sum += of_tile;
}

INLINE void multiply_values(int lane, const Fragment (&p)[keys / 16], f8 (&o)[dims / 16]) {
  const char* const values = lds + keys * key_bytes;
#pragma unroll
  for (int d = 0; d < dims / 16; d++)
#pragma unroll
    for (int k = 0; k < keys / 16; k++)
      o[d] = multiply(fragment(values + (d * 16 + lane % 16) * dim_bytes + k * 32, lane / 16), p[k], o[d]);
}

INLINE void store(char* out, float* lse, int lane, float reference, float sum, const f8 (&o)[dims / 16]) {
  sum += of_other_half(sum);
  const float inverse = __builtin_amdgcn_rcpf(sum);
  if (lane < 16) lse[lane] = reference + __builtin_amdgcn_logf(sum);
#pragma unroll
  for (int d = 0; d < dims / 16; d++) {
    unsigned x[4];
#pragma unroll
    for (int i = 0; i < 8; i += 2) x[i / 2] = pack(o[d][i] * inverse, o[d][i + 1] * inverse);
    *(uu4*)(out + lane % 16 * dims * 2 + d * 32 + lane / 16 * 16) = (uu4){x[0], x[1], x[2], x[3]};
  }
}

extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(threads, threads))) fwd(
    const char* __restrict__ q_rows, const char* __restrict__ k, const char* __restrict__ v, char* __restrict__ out,
    float* __restrict__ lse, int seqlen, float scale) {
  const int thread = TID, lane = thread & 31, wave = __builtin_amdgcn_readfirstlane(thread >> 5);
  const long head = (long)__builtin_amdgcn_workgroup_id_y() * seqlen;
  const long row = head + (__builtin_amdgcn_workgroup_id_x() * waves + wave) * 16;  // of the wave
  k += head * dims * 2;
  v += head * dims * 2;
  Fragment q[dims / 16];
#pragma unroll
  for (int c = 0; c < dims / 16; c++)
    q[c] = fragment(q_rows + row * dims * 2 + lane % 16 * dims * 2 + c * 32, lane / 16);
  f8 o[dims / 16];
#pragma unroll
  for (int d = 0; d < dims / 16; d++) o[d] = (f8)(0.f);
  float reference = -1e30f, sum = 0;
  for (int first = 0; first < seqlen; first += keys) {
    Staged tile;
    Staged::load(tile, k, v, first, thread);
    __builtin_amdgcn_s_barrier();
    Staged::store(tile, thread);
    synchronise();
    f8 s[keys / 16];
    multiply_keys(lane, q, s);
    Fragment p[keys / 16];
    probabilities(lane, scale, s, reference, sum, o, p);
    multiply_values(lane, p, o);
  }
  store(out + row * dims * 2, lse + row, lane, reference, sum, o);
}
