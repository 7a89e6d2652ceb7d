// Which rows of which head a workgroup computes.
#pragma once

#include "kernels/common/isa.hpp"

namespace rapt::RAPT_VENDOR {

// Workgroups start in numerical order. On a GPU with several XCDs, workgroup n runs on XCD n % xcds: all tiles of a
// head, and the heads that share its keys, go to one XCD, so that its L2 reads K and V from memory once.
//
// If later rows attend more keys, they come first, so that the workgroups that run last are short: the tiles of
// heads_at_once heads, whose K and V fit the cache together, are in the order of their lengths.
struct Place {
  int tile, head, batch;
};

DEVICE Place place_of(Arguments& a) {
  const int id = workgroup_id(), tiles = a.q_tiles, xcds = a.problem.xcds;
  const int share = a.problem.heads_q * a.problem.batch / xcds;  // heads per XCD
  // `turn` among the tiles of `heads` heads from `begin` on. The heads that are left over are spread over all XCDs.
  int turn = id - share * xcds * tiles, begin = share * xcds, heads = a.problem.heads_q * a.problem.batch - begin;
  if (turn < 0) turn = id / xcds, begin = id % xcds * share, heads = share;

  const int at_once = max(a.problem.heads_at_once, 1), first = turn / (at_once * tiles) * at_once;
  const int count = min(at_once, heads - first), in_chunk = turn - first * tiles;
  const int head = begin + first + in_chunk % count, tile = in_chunk / count;
  return {a.problem.heads_at_once > 0 ? tiles - 1 - tile : tile, head % a.problem.heads_q, head / a.problem.heads_q};
}

struct Span {
  int first, count;
};

// Rows of one sequence. cu_seqlens outside the tensor are clamped to it. AMD loads them through vector memory: made
// uniform, all that follows from them is computed in scalar registers.
DEVICE Span sequence(const int32_t* cu_seqlens, int batch, int total, int largest) {
  if (cu_seqlens == nullptr) return {0, largest};
  const int first = clamp(uniform(cu_seqlens[batch]), 0, total);
  return {first, min(clamp(uniform(cu_seqlens[batch + 1]), first, total) - first, largest)};
}

struct Block {
  int head, batch;
  Span q, k;      // rows of the sequence
  int first_row;  // of the workgroup, within the sequence
  int diagonal;   // query i is aligned with key i + diagonal
};

DEVICE Block block_of(Arguments& a, int rows) {
  const Place place = place_of(a);
  Block b;
  b.head = place.head;
  b.batch = place.batch;
  b.q = sequence(a.problem.cu_seqlens_q, place.batch, a.problem.total_q, a.problem.seqlen_q);
  b.k = sequence(a.problem.cu_seqlens_k, place.batch, a.problem.total_k, a.problem.seqlen_k);
  b.first_row = place.tile * rows;
  b.diagonal = a.problem.top_left ? 0 : b.k.count - b.q.count;
  return b;
}

// Address of the sequence's row 0. `Rows` is rapt_abi_rows in constant memory.
template <class Rows>
DEVICE char* first_row_of(const Rows& rows, int batch, const Span& span, int head) {
  return static_cast<char*>(rows.data) + batch * rows.batch + span.first * rows.seq + head * rows.head;
}

}  // namespace rapt::RAPT_VENDOR
