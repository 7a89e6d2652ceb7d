// The memory of one backward task, and the sums that its tiles add to.
#pragma once

#include "base/scratch.hpp"
#include "cpu/tiers/softmax.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int64_t kQueryBlock = 128;
inline constexpr int64_t kStrip = 32;  // keys whose S and dP stay in L1 together
inline int64_t backward_queries(const Call& call) { return widest_head(call) > 256 ? kQueryBlock / 2 : kQueryBlock; }

// Floats from one row of dQ, dK and dV, and of Q and dO row-major, to the next: whole columns where tiles add to them.
constexpr int64_t gradient_row(int64_t dim) {
  return kHasTiles ? (dim + kGroupLanes - 1) / kGroupLanes * kGroupLanes : padded(dim);
}

struct BackwardScratch {
  float *q_lanes, *do_lanes;  // lanes are queries
  float *q_rows, *do_rows;    // [queries][gradient_row]; bf16: [queries / 2][gradient_row] pairs
  float *s, *ds;              // [keys of a strip][kGroupLanes]
  float *p_block, *ds_block;  // [keys][kQueryBlock] words of floats; bf16: elements
  float* ds_pairs;            // bf16: [keys / 2][kQueryBlock]
  float *keys, *key_pairs;    // key_pairs: bf16: [keys / 2][gradient_row]; with tiles [head_dim][keys / 2]
  float *values, *added, *factors, *capped;
  float *lse, *delta;
  float *shift, *shift_rest;  // lse in the log2 domain as a sum of two floats: one is not precise enough for P
  bool* excluded;             // [keys][kQueryBlock]
  QueryLanes* lanes;
  Alibi* alibi;

  BackwardScratch(const Call& call, Scratch& carve) {
    const int64_t nq = backward_queries(call), nk = key_block(call), d = gradient_row(call.head_dim),
                  dv = gradient_row(call.head_dim_v);
    q_lanes = carve.take<float>(nq * d);
    do_lanes = carve.take<float>(nq * dv);
    q_rows = carve.take<float>(nq * d);
    do_rows = carve.take<float>(nq * dv);
    s = carve.take<float>(nk * kGroupLanes);
    ds = carve.take<float>(nk * kGroupLanes);
    p_block = carve.take<float>(nk * kQueryBlock);
    ds_block = carve.take<float>(nk * kQueryBlock);
    ds_pairs = carve.take<float>(nk / 2 * kQueryBlock);
    keys = carve.take<float>(nk * d);
    key_pairs = carve.take<float>(nk / 2 * d);
    values = carve.take<float>(nk * dv);
    added = carve.take<float>(nk * kGroupLanes);
    factors = carve.take<float>(nk * kGroupLanes);
    capped = carve.take<float>(nk * kGroupLanes);
    lse = carve.take<float>(nq);
    shift = carve.take<float>(nq);
    shift_rest = carve.take<float>(nq);
    delta = carve.take<float>(nq);
    excluded = carve.take<bool>(nk * kQueryBlock);
    lanes = carve.take<QueryLanes>(1);
    alibi = carve.take<Alibi>(1);
  }

  // Zeros in the operands made of Q and dO, whose rows are not written from the last element to whole tiles.
  void clear(const Call& call) const {
    const int64_t bytes = backward_queries(call) * static_cast<int64_t>(sizeof(float));
    for (float* to : {q_lanes, q_rows}) std::memset(to, 0, static_cast<size_t>(bytes * gradient_row(call.head_dim)));
    for (float* to : {do_lanes, do_rows})
      std::memset(to, 0, static_cast<size_t>(bytes * gradient_row(call.head_dim_v)));
  }
};

// Where a tile's results go, all fp32. dk and dv begin at key `first_key`; rows are gradient_row(dim) apart.
struct BackwardSums {
  float* dk;
  float* dv;
  int64_t first_key;
  float* dbias;  // of the whole un-broadcast bias, or null
  int64_t dbias_batch, dbias_head, dbias_query, dbias_key;
};

}  // namespace rapt::cpu::RAPT_TIER
