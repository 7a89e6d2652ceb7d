// The vector unit's part of a backward kernel: P and dS of a tile.
#pragma once

#include "kernels/amd/isa/matrix.hpp"
#include "kernels/common/keys.hpp"

namespace rapt::amd {

struct Products {
  Tile s, dp;
};

// P and dS of a tile, and both as operands, task by task. Rows are the statistics of the tile: negative_lse(r), times
// log2(e), and delta(r). With Pinned each element is computed in its task, wherever the compiler would move it.
template <class T, class Rows, bool Pinned = false>
struct Gradients {
  using B = typename Matrix<T>::B;
  static constexpr int kTasks = kRegisters / 2 * 3, kBothTasks = kRegisters / 2 * 5;

  Products& x;
  const Rows& rows;
  float scale;
  B p[kParts<T>], ds[kParts<T>];

  DEVICE_MEMBER Gradients(Products& x, const Rows& rows, float scale) : x(x), rows(rows), scale(scale) {}

  // Two elements, then their packing.
  DEVICE_MEMBER void probability(int task) {
    const int pair = task / 3, r = 2 * pair + task % 3;
    if (task % 3 < 2) put(x.s, r, exp2(__builtin_fmaf(x.s[r], scale, rows.negative_lse(r))));
    else pack(x.s, pair, p);
  }
  DEVICE_MEMBER void gradient(int task) {
    const int pair = task / 3, r = 2 * pair + task % 3;
    if (task % 3 < 2) put(x.dp, r, x.s[r] * (x.dp[r] - rows.delta(r)));
    else pack(x.dp, pair, ds);
  }
  // Both, if P is no operand.
  DEVICE_MEMBER void both(int task) {
    const int pair = task / 5, n = task % 5;
    if (n < 2) probability(3 * pair + n);
    else gradient(3 * pair + n - 2);
  }

 private:
  DEVICE_MEMBER static void put(Tile& to, int r, float value) {
    if (Pinned) computed_here(value);
    to[r] = value;
  }
  DEVICE_MEMBER static void pack(const Tile& from, int pair, B (&to)[kParts<T>]) {
    uint32_t packed = T::pack_p(from[2 * pair], from[2 * pair + 1]);
    computed_here(packed);
    to[pair / 4][pair % 4] = packed;
  }
};

// Makes P and dS 0 for the rows of a tile that the lane's row does not attend: all but [begin, begin + count). It does
// the same where a logit is -Inf by an Inf in Q or K. `again`: in a later run, where lse has been subtracted already.
template <class T, class Rows>
DEVICE void exclude(int begin, int count, int half, bool again, Products& x, Rows& rows) {
  const auto size = static_cast<uint32_t>(max(count, 0));
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const bool attends = static_cast<uint32_t>(Matrix<T>::element(r, half) - begin) < size && x.s[r] != kMasked;
    x.s[r] = attends ? x.s[r] : Rows::kExcluded;
    x.dp[r] = attends ? x.dp[r] : 0;
    rows.exclude(r, attends, again);
  }
}

// In a later run: S becomes logits less the lse of their rows, at most 0, however far rounding moves huge logits above
// it (huge.hpp).
template <class LseOf>
DEVICE void subtract_lse(float scale, Products& x, const LseOf& lse_of) {
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) {
    const float lse = lse_of(r), logit = x.s[r] * scale;
    x.s[r] = (logit > lse ? lse : logit) - lse;
  }
}

}  // namespace rapt::amd
