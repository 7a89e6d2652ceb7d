/* Dropout's counter-based mask, the same on every backend, device and tile. Freestanding: host and device include it.
 *
 * Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Key = the 64-bit seed and the
 * offset's high half; counter = (col / 4, row / 2, batch * heads_q + head, the offset's low half). The 128 bits are
 * eight 16-bit fields. Element (row, col) has number 4 * (row % 2) + (col % 4), least significant first, and is kept
 * where its field < rapt_keep_threshold(p).
 */
#ifndef RAPT_KERNELS_COMMON_PHILOX_H
#define RAPT_KERNELS_COMMON_PHILOX_H

#include <stdint.h>

#include "kernels/common/inline.h"

struct rapt_philox_bits {
  uint32_t word[4];
};

RAPT_DEVICE_INLINE struct rapt_philox_bits rapt_philox(uint64_t seed, uint32_t c0, uint32_t c1, uint32_t c2,
                                                       uint32_t c3) {
  uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
#ifdef __CUDACC__
#pragma unroll
#else
#pragma GCC unroll 10
#endif
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    const uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  struct rapt_philox_bits bits = {{c0, c1, c2, c3}};
  return bits;
}

/* The key: offsets below 2^32 leave the seed as it is. */
RAPT_DEVICE_INLINE uint64_t rapt_philox_key(uint64_t seed, uint64_t offset) {
  const uint32_t high = (uint32_t)(offset >> 32);
  return seed ^ (high | (uint64_t)(high * 0x9E3779B9u) << 32);
}

/* Field 4 * (row % 2) + (col % 4) of the bits. */
RAPT_DEVICE_INLINE uint32_t rapt_philox_field(struct rapt_philox_bits bits, uint32_t row, uint32_t col) {
  /* Not word[2 * (row % 2) + col % 4 / 2]: GPUs cannot index registers by a variable. */
  const uint32_t first = row % 2 ? bits.word[2] : bits.word[0], second = row % 2 ? bits.word[3] : bits.word[1];
  return ((col % 4 < 2 ? first : second) >> (16 * (col % 2))) & 0xFFFFu;
}

/* round(65536 * (1 - p)): fields below it are kept. */
RAPT_DEVICE_INLINE uint32_t rapt_keep_threshold(double probability) {
  return (uint32_t)(65536.0 * (1.0 - probability) + 0.5);
}

#endif
