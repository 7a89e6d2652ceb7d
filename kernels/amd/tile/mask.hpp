// Which keys a query attends, given causality, window and the sequence's end.
#pragma once

#include "kernels/amd/tile/block.hpp"
#include "kernels/amd/isa/matrix.hpp"

namespace rapt::amd {

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

// Excludes keys outside [begin, end) from a tile of logits whose first key is 0.
template <class M>
DEVICE void exclude(Tile& s, int half, int begin, int end) {
  // One comparison per key: keys below `begin` become large unsigned numbers. Only `offset` depends on the lane, the
  // rest is constant.
  const auto count = static_cast<uint32_t>(max(end - begin, 0));
  const int offset = M::element(0, half) - begin;
#pragma unroll
  for (int r = 0; r < kRegisters; ++r) s[r] = static_cast<uint32_t>(offset + M::element(r, 0)) < count ? s[r] : kMasked;
}

}  // namespace rapt::amd
