// Algorithms as programs have them: products of matrices, sums, scans, sorts, a queue of tasks. After hip_prelude.
#define KERNEL extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(256, 256))) void
#define AGENT __HIP_MEMORY_SCOPE_AGENT
typedef _Float16 half4 __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
typedef _Float16 half16 __attribute__((ext_vector_type(16)));
typedef float float8 __attribute__((ext_vector_type(8)));
typedef float float16 __attribute__((ext_vector_type(16)));

// ---- C = A B in float, n a multiple of 16, a tile of 16x16 for each workgroup
KERNEL gemm(const float* a, const float* b, float* c, uint n) {
  __shared__ float left[16][17], right[16][17];
  const uint x = TID % 16, y = TID / 16, tiles = n / 16, row = BID / tiles * 16 + y, column = BID % tiles * 16 + x;
  float sum = 0;
  for (uint k = 0; k < n; k += 16) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    SYNC();
    for (uint i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    SYNC();
  }
  c[row * n + column] = sum;
}

// ---- C = A B^T in half precision by matrix instructions, a tile for each wave; both inputs have rows of k
#if !defined(__gfx906__)
KERNEL matrix_gemm(const _Float16* a, const _Float16* b, float* c, uint n, uint k) {
#if defined(__GFX9__)
  constexpr uint tile = 32, lanes = 64;
#else
  constexpr uint tile = 16, lanes = 32;
#endif
  const uint lane = TID % lanes, wave = BID * (256 / lanes) + TID / lanes, across = n / tile;
  const uint row = wave / across * tile, column = wave % across * tile, part = lane / tile;
  if (row >= n) return;
  const _Float16 *from_a = a + (row + lane % tile) * k, *from_b = b + (column + lane % tile) * k;
#if defined(__GFX9__)
  float16 sum = {};
  for (uint i = 0; i < k; i += 8)
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(*(const half4*)(from_a + i + 4 * part),
                                               *(const half4*)(from_b + i + 4 * part), sum, 0, 0, 0);
  for (uint r = 0; r < 16; ++r) c[(row + 8 * (r / 4) + 4 * part + r % 4) * n + column + lane % 32] = sum[r];
#elif defined(__GFX12__)
  float8 sum = {};
  for (uint i = 0; i < k; i += 16)
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(*(const half8*)(from_a + i + 8 * part),
                                                           *(const half8*)(from_b + i + 8 * part), sum);
  for (uint r = 0; r < 8; ++r) c[(row + 8 * part + r) * n + column + lane % 16] = sum[r];
#else
  float8 sum = {};
  for (uint i = 0; i < k; i += 16)
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(*(const half16*)(from_a + i), *(const half16*)(from_b + i), sum);
  for (uint r = 0; r < 8; ++r) c[(row + 2 * r + part) * n + column + lane % 16] = sum[r];
#endif
}
#endif

// ---- sum of doubles: the workgroup that comes last adds what the others left
KERNEL sum(const double* in, double* partial, double* out, uint* ticket, uint n, uint groups) {
  __shared__ double part[256];
  __shared__ uint last;
  double mine = 0;
  for (uint i = BID * 256 + TID; i < n; i += groups * 256) mine += in[i];
  for (uint round = 0; round < 2; ++round) {
    part[TID] = mine;
    SYNC();
    for (uint step = 128; step > 0; step /= 2) {
      if (TID < step) part[TID] += part[TID + step];
      SYNC();
    }
    if (round == 1) break;
    if (TID == 0) {
      __hip_atomic_store(partial + BID, part[0], __ATOMIC_RELAXED, AGENT);
      last = __hip_atomic_fetch_add(ticket, 1U, __ATOMIC_ACQ_REL, AGENT) == groups - 1;
    }
    SYNC();
    if (!last) return;
    mine = TID < groups ? __hip_atomic_load(partial + TID, __ATOMIC_RELAXED, AGENT) : 0;
  }
  if (TID == 0) *out = part[0];
}

// ---- inclusive scan: lanes by exchange, waves through LDS, workgroups by waiting for the one before
static __device__ uint wave_scan(uint value, uint lane) {
  for (uint step = 1; step < __builtin_amdgcn_wavefrontsize(); step *= 2) {
    const uint other = (uint)__builtin_amdgcn_ds_bpermute((int)(lane - step) * 4, (int)value);
    if (lane >= step) value += other;
  }
  return value;
}
KERNEL scan(const uint* in, uint* out, ulong* totals, uint n) {
  __shared__ uint waves[8];
  __shared__ uint before;
  const uint lanes = __builtin_amdgcn_wavefrontsize(), lane = TID % lanes, wave = TID / lanes, i = BID * 256 + TID;
  uint value = wave_scan(i < n ? in[i] : 0, lane);
  if (lane == lanes - 1) waves[wave] = value;
  SYNC();
  for (uint w = 0; w < wave; ++w) value += waves[w];
  if (TID == 255) {
    ulong previous = 1UL << 32;  // the upper half says that the lower one is there
    if (BID > 0) do
        previous = __hip_atomic_load(totals + BID - 1, __ATOMIC_ACQUIRE, AGENT);
      while (previous >> 32 == 0);
    before = (uint)previous;
    __hip_atomic_store(totals + BID, 1UL << 32 | (uint)(before + value), __ATOMIC_RELEASE, AGENT);
  }
  SYNC();
  if (i < n) out[i] = before + value;
}

// ---- 512 keys for each workgroup, by Batcher's bitonic network
KERNEL bitonic_sort(int* keys) {
  __shared__ int tile[512];
  int* const mine = keys + BID * 512;
  tile[TID] = mine[TID];
  tile[TID + 256] = mine[TID + 256];
  for (uint size = 2; size <= 512; size *= 2)
    for (uint step = size / 2; step > 0; step /= 2) {
      SYNC();
      const uint low = 2 * TID - (TID & (step - 1)), high = low + step;
      const int a = tile[low], b = tile[high];
      const bool up = (low & size) == 0;
      if ((a > b) == up) {
        tile[low] = b;
        tile[high] = a;
      }
    }
  SYNC();
  mine[TID] = tile[TID];
  mine[TID + 256] = tile[TID + 256];
}

// ---- 1024 keys with values by one workgroup, least digit first; stable, so equal keys keep their order
KERNEL radix_sort(ulong* items) {
  __shared__ ulong tile[1024];
  __shared__ ushort counts[16][256];
  for (uint i = TID; i < 1024; i += 256) tile[i] = items[i];
  for (uint shift = 0; shift < 32; shift += 4) {
    for (uint digit = 0; digit < 16; ++digit) counts[digit][TID] = 0;
    SYNC();
    ulong mine[4];
    for (uint i = 0; i < 4; ++i) {
      mine[i] = tile[4 * TID + i];
      ++counts[mine[i] >> shift & 15][TID];
    }
    SYNC();
    __shared__ uint sums[256];
    uint sum = 0;  // of 16 neighbours in the order of digits, then threads
    for (uint i = 0; i < 16; ++i) sum += (&counts[0][0])[16 * TID + i];
    sums[TID] = sum;
    SYNC();
    for (uint step = 1; step < 256; step *= 2) {
      const uint other = TID >= step ? sums[TID - step] : 0;
      SYNC();
      sums[TID] += other;
      SYNC();
    }
    uint place = sums[TID] - sum;
    for (uint i = 0; i < 16; ++i) {
      const uint count = (&counts[0][0])[16 * TID + i];
      (&counts[0][0])[16 * TID + i] = (ushort)place;
      place += count;
    }
    SYNC();
    for (uint i = 0; i < 4; ++i) tile[counts[mine[i] >> shift & 15][TID]++] = mine[i];
    SYNC();
  }
  for (uint i = TID; i < 1024; i += 256) items[i] = tile[i];
}

// ---- counts in LDS, added to global ones
KERNEL histogram(const uchar* in, uint* out, float* weights, uint n, uint groups) {
  __shared__ uint bins[256];
  __shared__ float weight;
  bins[TID] = 0;
  if (TID == 0) weight = 0;
  SYNC();
  for (uint i = BID * 256 + TID; i < n; i += groups * 256) {
    __hip_atomic_fetch_add(&bins[in[i]], 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    __hip_atomic_fetch_add(&weight, (float)(in[i] & 7), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  SYNC();
  __hip_atomic_fetch_add(out + TID, bins[TID], __ATOMIC_RELAXED, AGENT);
  if (TID == 0) __hip_atomic_fetch_add(weights, weight, __ATOMIC_RELAXED, AGENT);
}

// ---- a queue of tasks that all threads of all workgroups take from and add to. A task of v > 1 becomes two whose
// values add up to v; one of 1 is counted. `state`: head, tail, tasks that are not done, count; slot 0: not written
// yet.
KERNEL queue(uint* state, uint* slots) {
  while (__hip_atomic_load(state + 2, __ATOMIC_ACQUIRE, AGENT) != 0) {
    uint head = __hip_atomic_load(state, __ATOMIC_RELAXED, AGENT);
    if (head >= __hip_atomic_load(state + 1, __ATOMIC_RELAXED, AGENT)) continue;
    const uint task = __hip_atomic_load(slots + head, __ATOMIC_ACQUIRE, AGENT);
    if (task == 0) continue;
    if (!__hip_atomic_compare_exchange_strong(state, &head, head + 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, AGENT))
      continue;
    if (task == 1) {
      __hip_atomic_fetch_add(state + 3, 1U, __ATOMIC_RELAXED, AGENT);
    } else {
      __hip_atomic_fetch_add(state + 2, 2U, __ATOMIC_RELAXED, AGENT);
      const uint place = __hip_atomic_fetch_add(state + 1, 2U, __ATOMIC_RELAXED, AGENT);
      __hip_atomic_store(slots + place, task / 2, __ATOMIC_RELEASE, AGENT);
      __hip_atomic_store(slots + place + 1, task - task / 2, __ATOMIC_RELEASE, AGENT);
    }
    __hip_atomic_fetch_sub(state + 2, 1U, __ATOMIC_ACQ_REL, AGENT);
  }
}
