// A block of queries in vector lanes: S^T = K Q^T keeps one query per lane, so maxima, sums, masks and slopes are
// vectors and nothing is reduced across lanes (docs/design/cpu.md).
#pragma once

#include <algorithm>

#include "cpu/tiers/micro.hpp"
#include "cpu/tiers/rows.hpp"

namespace rapt::cpu::RAPT_TIER {

inline constexpr int kGroupLanes = kLanes * kVectors;  // queries that share one column of the micro-kernel
inline constexpr int kKeyBlock = 128;
inline constexpr int kMostQueries = 256;
inline constexpr int kMostGroups = kMostQueries / kGroupLanes;

inline constexpr float kLog2e = 1.44269504f;
inline constexpr float kLn2 = 0.693147182f;

// Q, O, K and V of a block fit in a 1 MiB L2; for narrow heads, more queries share the cost of a key block.
inline int64_t widest_head(const Call& call) { return std::max(call.head_dim, call.head_dim_v); }
inline int64_t key_block(const Call& call) { return widest_head(call) > 256 ? kKeyBlock / 2 : kKeyBlock; }

// Rows of one key head's queries: row r is query r / heads of head first_head + r % heads. Short queries of a group of
// heads share lanes (heads = the group), so K and V are read once for all of them.
struct QueryRows {
  int64_t first_head, heads;
  int64_t rows(const Sequence& s) const { return s.seqlen_q * heads; }
};

struct QueryLanes {
  int64_t count = 0;  // lanes in use; the others repeat the last, with zero rows
  int64_t groups = 0;
  alignas(64) int32_t query[kMostQueries];
  alignas(64) int32_t head[kMostQueries];
  alignas(64) int32_t key_begin[kMostQueries];  // by causality and window
  alignas(64) int32_t key_end[kMostQueries];

  void set(const Call& call, const Sequence& s, const QueryRows& rows, int64_t first, int64_t n) {
    count = n;
    groups = (n + kGroupLanes - 1) / kGroupLanes;
    for (int64_t lane = 0; lane < groups * kGroupLanes; ++lane) {
      const int64_t r = first + std::min(lane, n - 1), i = r / rows.heads;
      query[lane] = static_cast<int32_t>(i);
      head[lane] = static_cast<int32_t>(rows.first_head + r % rows.heads);
      key_begin[lane] = static_cast<int32_t>(s.key_begin(call, i));
      key_end[lane] = static_cast<int32_t>(s.key_end(call, i));
    }
  }
};

// [begin, end): keys that some lane of a group attends. [all_begin, all_end): keys that all its lanes attend.
struct KeyRange {
  int64_t begin, end, all_begin, all_end;
};

inline KeyRange key_range(const QueryLanes& lanes, int64_t group) {
  const int32_t* b = lanes.key_begin + group * kGroupLanes;
  const int32_t* e = lanes.key_end + group * kGroupLanes;
  KeyRange r = {b[0], e[0], b[0], e[0]};
  for (int i = 1; i < kGroupLanes; ++i) {
    r.begin = std::min<int64_t>(r.begin, b[i]);
    r.end = std::max<int64_t>(r.end, e[i]);
    r.all_begin = std::max<int64_t>(r.all_begin, b[i]);
    r.all_end = std::min<int64_t>(r.all_end, e[i]);
  }
  return r;
}

}  // namespace rapt::cpu::RAPT_TIER
