// The memory of one backward task, and the sums that its tiles add to.
#pragma once

#include "base/scratch.hpp"
#include "cpu/tiers/softmax.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kQueryBlock = 128;
inline constexpr int64_t kBlockRow = apart(kQueryBlock);  // words of P and dS from one key to the next
inline constexpr int64_t kStrip = 32;                     // keys whose S and dP stay in L1 together
inline int64_t backward_queries(const Call& call) { return widest_head(call) > 256 ? kQueryBlock / 2 : kQueryBlock; }

// Floats from one row of dQ, dK and dV to the next: whole columns where tiles add to them.
constexpr int64_t gradient_row(int64_t dim) {
  return kHasTiles ? (dim + kGroupLanes - 1) / kGroupLanes * kGroupLanes : padded(dim);
}

// What dot products need to know of a block of queries (small_numbers.hpp).
struct QuerySizes {
  float q, dout;  // the largest elements
  bool denormal;  // in q or dO
  bool sunk;      // sinks leave the keys of all rows almost nothing
};

// The operands made of a block of queries before it meets keys.
struct QueryOperands {
  float *q_lanes, *do_lanes;  // lanes are queries
  float *q_rows, *do_rows;    // [queries][apart(gradient_row)]; bf16: [queries / 2][apart(gradient_row)] pairs
  float *lse, *delta;
  float *shift, *shift_rest;  // lse in the log2 domain as a sum of two floats: one is not precise enough for P
  bool* finite;               // whether q and dO hold no Inf or NaN, and no lse is huge
  QuerySizes* sizes;          // for dot products

  QueryOperands(const Call& call, Scratch& carve) {
    const int64_t n = backward_queries(call), d = gradient_row(call.head_dim), dv = gradient_row(call.head_dim_v);
    q_lanes = carve.take<float>(n * d);
    do_lanes = carve.take<float>(n * dv);
    q_rows = carve.take<float>(n * apart(d));
    do_rows = carve.take<float>(n * apart(dv));
    lse = carve.take<float>(n);
    shift = carve.take<float>(n);
    shift_rest = carve.take<float>(n);
    delta = carve.take<float>(n);
    finite = carve.take<bool>(1);
    sizes = carve.take<QuerySizes>(1);
  }

  // Zeros where rows are not written: from the last element to whole tiles.
  void clear(const Call& call) const {
    const auto zero = [&](float* lanes, float* rows, int64_t dim) {
      if (dim % kGroupLanes == 0) return;
      const int64_t row = backward_queries(call) * static_cast<int64_t>(sizeof(float));
      std::memset(lanes, 0, static_cast<size_t>(row * gradient_row(dim)));
      std::memset(rows, 0, static_cast<size_t>(row * apart(gradient_row(dim))));
    };
    zero(q_lanes, q_rows, call.head_dim);
    zero(do_lanes, do_rows, call.head_dim_v);
  }
};

struct BackwardScratch {
  QueryOperands queries;
  float *s, *ds;              // [keys of a strip][kGroupLanes]
  float *p_block, *ds_block;  // [keys][kBlockRow] floats; bf16: [keys][kQueryBlock] elements
  float* ds_pairs;            // bf16: [keys / 2][kBlockRow]
  float *keys, *key_pairs;    // key_pairs: bf16: [keys / 2][gradient_row]; with tiles [head_dim][keys / 2]
  float *values, *added, *factors, *capped;
  bool* excluded;  // [keys][kQueryBlock]
  QueryLanes* lanes;
  Alibi* alibi;

  BackwardScratch(const Call& call, Scratch& carve) : queries(call, carve) {
    const int64_t nk = key_block(call), d = gradient_row(call.head_dim), dv = gradient_row(call.head_dim_v);
    s = carve.take<float>(nk * kGroupLanes);
    ds = carve.take<float>(nk * kGroupLanes);
    p_block = carve.take<float>(nk * kBlockRow);
    ds_block = carve.take<float>(nk * kBlockRow);
    ds_pairs = carve.take<float>(nk / 2 * kBlockRow);
    keys = carve.take<float>(nk * apart(d));
    key_pairs = carve.take<float>(nk / 2 * d);
    values = carve.take<float>(nk * apart(dv));
    added = carve.take<float>(nk * kGroupLanes);
    factors = carve.take<float>(nk * kGroupLanes);
    capped = carve.take<float>(nk * kGroupLanes);
    excluded = carve.take<bool>(nk * kQueryBlock);
    lanes = carve.take<QueryLanes>(1);
    alibi = carve.take<Alibi>(1);
  }
};

// A range of `count` keys from `first_key` on, and where their gradients go, all fp32. Rows of dk and dv are
// gradient_row(dim) apart. If k and v are not null, they are the range's rows as words, apart(padded(dim)) apart.
struct BackwardRange {
  float* dk;
  float* dv;
  const float *k, *v;
  int64_t first_key, count;
  float* dbias;  // [the bias's own shape, not broadcast], or null
  int64_t dbias_batch, dbias_head, dbias_query, dbias_key;
};

}  // namespace rapt::cpu::RAPT_TIER
