// The keys that a query attends, by causality, window and the sequence's end.
#pragma once

#include "kernels/common/block.hpp"

namespace rapt::RAPT_VENDOR {

inline constexpr float kMasked = -__builtin_inff();

// For a range of rows. [begin, end): keys that any row attends; [full_begin, full_end): keys that all rows attend.
struct Keys {
  int begin, end, full_begin, full_end;
};

DEVICE int first_key(Problem& p, const Block& b, int row) {
  return p.window_left < 0 ? 0 : clamp(row + b.diagonal - p.window_left, 0, b.k.count);
}
DEVICE int end_key(Problem& p, const Block& b, int row) {
  return p.window_right < 0 ? b.k.count : clamp(row + b.diagonal + p.window_right + 1, 0, b.k.count);
}
DEVICE Keys keys_of(Problem& p, const Block& b, int first_row, int rows) {
  const int last_row = min(first_row + rows, b.q.count) - 1;
  if (last_row < first_row) return {0, 0, 0, 0};
  return {first_key(p, b, first_row), end_key(p, b, last_row), first_key(p, b, last_row), end_key(p, b, first_row)};
}

// The same the other way: queries that attend any, or all, of a range of keys.
struct Queries {
  int begin, end, full_begin, full_end;
};

DEVICE Queries queries_of(Problem& p, const Block& b, int first_key, int keys) {
  const int last_key = min(first_key + keys, b.k.count) - 1;
  if (last_key < first_key) return {0, 0, 0, 0};
  const auto first_row = [&](int key) {
    return p.window_right < 0 ? 0 : clamp(key - b.diagonal - p.window_right, 0, b.q.count);
  };
  const auto end_row = [&](int key) {
    return p.window_left < 0 ? b.q.count : clamp(key - b.diagonal + p.window_left + 1, 0, b.q.count);
  };
  return {first_row(first_key), end_row(last_key), first_row(last_key), end_row(first_key)};
}

// One query and the keys it attends.
struct Query {
  int row, begin, end;  // begin, end: by causality, window and length; no keys if the row does not exist
};

DEVICE Query query_of(Problem& p, const Block& b, int row) {
  return row < b.q.count ? Query{row, first_key(p, b, row), end_key(p, b, row)} : Query{row, 0, 0};
}

// Rows of a tile that one wave computes.
struct WaveRows {
  int first;  // within the sequence
  Keys keys;

  DEVICE_MEMBER bool attends(int first_key, int keys_of_tile) const {
    return first_key < keys.end && first_key + keys_of_tile > keys.begin;
  }
  // The wave's row `row`.
  DEVICE_MEMBER Query query(Problem& p, const Block& b, int row) const { return query_of(p, b, first + row); }
};

}  // namespace rapt::RAPT_VENDOR
