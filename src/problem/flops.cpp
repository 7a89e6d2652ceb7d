// The count of floating-point operations that explain, benchmarks and reports share.
#include <algorithm>

#include "problem/problem.hpp"

namespace rapt {

namespace {

// Sum over i in [0, rows) of clamp(i + first, 0, keys): keys before a diagonal, row by row.
double keys_before(int64_t rows, int64_t first, int64_t keys) {
  const int64_t begin = std::clamp<int64_t>(-first, 0, rows);          // before it: no keys
  const int64_t end = std::clamp<int64_t>(keys - first, begin, rows);  // from it on: all keys
  const auto n = static_cast<double>(end - begin);
  const double sloped = n * static_cast<double>(begin + first) + n * (n - 1) / 2;
  return sloped + static_cast<double>(rows - end) * static_cast<double>(keys);
}

// Pairs of a query of one sequence and a key that it attends.
double attended_pairs(const Problem& p, int64_t seqlen_q, int64_t seqlen_k) {
  const int64_t diagonal = p.diagonal(seqlen_q, seqlen_k);
  const int64_t all = seqlen_q + seqlen_k;  // a side this long excludes nothing
  const int64_t left = p.window_left < 0 ? all : std::min(p.window_left, all);
  const int64_t right = p.right_side() < 0 ? all : std::min(p.right_side(), all);
  return keys_before(seqlen_q, diagonal + right + 1, seqlen_k) - keys_before(seqlen_q, diagonal - left, seqlen_k);
}

double relative_to_forward(rapt_op op) {
  switch (op) {
    case RAPT_FORWARD: return 1;
    case RAPT_BACKWARD: return 2.5;
  }
  return 0;
}

}  // namespace

double flops(const Problem& p, rapt_op op) {
  double pairs = 0;
  for (const auto& [seqlen_q, seqlen_k] : p.varlen) pairs += attended_pairs(p, seqlen_q, seqlen_k);
  if (p.varlen.empty()) pairs = static_cast<double>(p.batch) * attended_pairs(p, p.seqlen_q, p.seqlen_k);
  const auto dims = static_cast<double>(p.head_dim + p.head_dim_v);
  return 2 * static_cast<double>(p.heads_q) * pairs * dims * relative_to_forward(op);
}

}  // namespace rapt
