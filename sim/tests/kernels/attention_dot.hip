// Attention of fp16 and head_dim 128 without matrix instructions: dot products for the scores, fp32 for P V. Two
// neighbouring lanes share a query, each with half of the dimensions.
enum { dims = 128, part = dims / 2, waves = 8 };

static __device__ float neighbours(float x) {
  return __builtin_bit_cast(float, __builtin_amdgcn_mov_dpp(__builtin_bit_cast(int, x), 0xb1, 15, 15, true));
}

extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(1, 512))) fwd(
    const h2* __restrict__ q, const h2* __restrict__ k, const h2* __restrict__ v, _Float16* __restrict__ out,
    float* __restrict__ lse, int seqlen, float scale) {
  const unsigned lane = __builtin_amdgcn_workitem_id_x(), queries = waves / 2 * __builtin_amdgcn_wavefrontsize();
  const unsigned head = __builtin_amdgcn_workgroup_id_y() * seqlen, half = lane % 2 * (part / 2);
  const unsigned row = head + __builtin_amdgcn_workgroup_id_x() * queries + lane / 2;
  h2 own[part / 2];
  float sums[part] = {}, top = -1e30f, total = 0;
  for (unsigned c = 0; c < part / 2; ++c) own[c] = q[row * part + half + c];
  for (unsigned key = head; key < head + seqlen; ++key) {
    float logit = 0;
    for (unsigned c = 0; c < part / 2; ++c)
      logit = __builtin_amdgcn_fdot2(own[c], k[key * part + half + c], logit, false);
    logit = (logit + neighbours(logit)) * scale;
    const float higher = __builtin_fmaxf(top, logit), kept = __builtin_amdgcn_exp2f(top - higher);
    const float p = __builtin_amdgcn_exp2f(logit - higher);
    top = higher;
    total = total * kept + p;
    for (unsigned c = 0; c < part / 2; ++c) {
      const h2 value = v[key * part + half + c];
      sums[2 * c] = sums[2 * c] * kept + p * (float)value[0];
      sums[2 * c + 1] = sums[2 * c + 1] * kept + p * (float)value[1];
    }
  }
  for (unsigned c = 0; c < part; ++c) out[row * dims + 2 * half + c] = (_Float16)(sums[c] / total);
  lse[row] = top + __builtin_log2f(total);
}
