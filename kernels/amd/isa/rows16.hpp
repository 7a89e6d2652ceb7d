// Products with 16 rows of q, for split-KV: S^T = K Q^T for a block of keys, O^T = V^T P^T for 16 dimensions. A lane
// has the scores of row lane % 16 of q with `scores` neighbouring keys, computed in `products` products. It has loaded
// the rows value_row(i, lane) of V. A column of these rows is operand A of the second product, so neither K nor V goes
// through LDS. The second product has `steps` parts of the keys, with equally many rows of V each.
//
// Layouts: AMD's matrix instruction calculator, and wmma.hpp for RDNA.
#pragma once

#include "kernels/amd/isa/matrix.hpp"

#if defined(RAPT_CDNA)
#include "kernels/cdna/isa/rows16.hpp"
#elif defined(RAPT_DOT)
#include "kernels/dot/isa/rows16.hpp"
#else
#include "kernels/rdna/isa/rows16.hpp"
#endif

namespace rapt::amd {

// Keeps what computes x above what follows. Without it, the compiler moves RDNA's products below the next loads, and
// their operands need registers beside what is loaded.
template <class X>
DEVICE void keep_above(X& x) {
#ifndef RAPT_CDNA
  computed_here(x);
#endif
}

// The lanes that have keys of one row of q.
struct RowLanes {
  DEVICE float max(float x) {
    x = amd::max(x, other_half(x));
#ifdef __GFX9__
    x = amd::max(x, from_lane(x, 16));
#endif
    return x;
  }
  DEVICE float sum(float x) {
    x += other_half(x);
#ifdef __GFX9__
    x += from_lane(x, 16);
#endif
    return x;
  }

 private:
#ifdef __GFX9__
  DEVICE float from_lane(float x, int distance) {
    const int bits = __builtin_bit_cast(int, x);
    return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((thread_id() ^ distance) * 4, bits));
  }
#endif
};

}  // namespace rapt::amd
