// Which keys a query attends, given causality, window and the sequence's end.
#pragma once

#include "kernels/common/block.hpp"

namespace rapt::RAPT_VENDOR {

inline constexpr float kMasked = -__builtin_inff();

// [begin, end): keys that any of a range of rows attends; [full_begin, full_end): keys that all of them attend.
struct Keys {
  int begin, end, full_begin, full_end;
};

DEVICE int first_key(Arguments& a, const Block& b, int row) {
  return a.problem.window_left < 0 ? 0 : clamp(row + b.diagonal - a.problem.window_left, 0, b.k.count);
}
DEVICE int end_key(Arguments& a, const Block& b, int row) {
  return a.problem.window_right < 0 ? b.k.count : clamp(row + b.diagonal + a.problem.window_right + 1, 0, b.k.count);
}
DEVICE Keys keys_of(Arguments& a, const Block& b, int first_row, int rows) {
  const int last_row = min(first_row + rows, b.q.count) - 1;
  if (last_row < first_row) return {0, 0, 0, 0};
  return {first_key(a, b, first_row), end_key(a, b, last_row), first_key(a, b, last_row), end_key(a, b, first_row)};
}

// One query and the keys it attends.
struct Query {
  int row, begin, end;  // begin, end: by causality, window and length; no keys if the row does not exist
};

// Rows of a tile that one wave computes.
struct WaveRows {
  int first;  // within the sequence
  Keys keys;

  DEVICE_MEMBER bool attends(int first_key, int keys_of_tile) const {
    return first_key < keys.end && first_key + keys_of_tile > keys.begin;
  }
  // Row `row` of these.
  DEVICE_MEMBER Query query(Arguments& a, const Block& b, int row) const {
    row += first;
    return row < b.q.count ? Query{row, first_key(a, b, row), end_key(a, b, row)} : Query{row, 0, 0};
  }
};

}  // namespace rapt::RAPT_VENDOR
