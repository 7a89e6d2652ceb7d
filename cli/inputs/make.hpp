// Makes the tensors of a problem: deterministic values, the same on every platform, for the command and the tests.
#pragma once

#include "cli/inputs/array.hpp"
#include "cli/inputs/kind.hpp"

namespace rapt::cli {

struct MadeTensors {
  Array q, k, v;
  Array bias, mask, alibi_slopes, sink;  // absent where the problem has none
  Array cu_seqlens_q, cu_seqlens_k;      // packed q; packed k and v
  Array block_table, seqused_k;          // paged k and v: pages in any order, and unused ones full of NaN
};

struct Form {
  Layout layout = Layout::compact;
  // A problem's text does not say the types of bias, mask and sink. They are q's type and bool; or, if mixed, fp32 and
  // uint8 in turn, with slopes for every sequence.
  bool mixed_types = false;
};

MadeTensors make_tensors(const rapt_problem& problem, InputKind kind, uint64_t seed, Form form);

// `stream` separates tensors of one seed. From 4 Mi elements on the values repeat, for speed.
void fill_normal(Array& array, uint64_t seed, uint64_t stream);
inline constexpr uint64_t kDoutStream = 100;

// The lengths of sequence b, packed or not.
int64_t seqlen_q(const rapt_problem& problem, int64_t b);
int64_t seqlen_k(const rapt_problem& problem, int64_t b);
int64_t first_q(const rapt_problem& problem, int64_t b);
int64_t first_k(const rapt_problem& problem, int64_t b);

// Key j of sequence b as a row of k and v, counted over all but heads and head_dim.
int64_t key_row(const rapt_problem& problem, const Array& block_table, int64_t b, int64_t j);
// Query i is aligned with key i + diagonal.
int64_t diagonal(const rapt_problem& problem, int64_t b);
// True if causality, window and mask let query i see key j.
bool attends(const rapt_problem& problem, const Array& mask, int64_t b, int64_t h, int64_t i, int64_t j);

}  // namespace rapt::cli
