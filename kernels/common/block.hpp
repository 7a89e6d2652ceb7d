// The head and the rows that a workgroup computes.
#pragma once

#include "kernels/common/isa.hpp"
#include "kernels/common/order.hpp"

namespace rapt::RAPT_VENDOR {

struct Place {
  int tile, head, batch;
};

DEVICE Place place_of(Problem& p, int tiles, int heads) {
  const Turn turn = turn_of({tiles, heads * p.batch, p.xcds, p.heads_at_once, p.units}, workgroup_id());
  return {turn.tile, turn.head % heads, turn.head / heads};
}

struct Span {
  int first, count;
};

// Rows of one sequence. cu_seqlens outside the tensor are clamped to it. AMD loads them through vector memory. They are
// then made uniform, so that scalar registers hold everything computed from them.
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

DEVICE Block block_at(Problem& p, const Place& place, int first_row) {
  Block b;
  b.head = place.head;
  b.batch = place.batch;
  b.q = sequence(p.cu_seqlens_q, place.batch, p.total_q, p.seqlen_q);
  b.k = sequence(p.cu_seqlens_k, place.batch, p.total_k, p.seqlen_k);
  b.first_row = first_row;
  b.diagonal = p.top_left ? 0 : b.k.count - b.q.count;
  return b;
}

// A workgroup's rows of q, `rows` of them in each of `tiles` tiles.
DEVICE Block block_of(Problem& p, int tiles, int rows) {
  const Place place = place_of(p, tiles, p.heads_q);
  return block_at(p, place, (p.heads_at_once > 0 ? tiles - 1 - place.tile : place.tile) * rows);
}

// Its rows of k; `head` is a head of k. Earlier keys have more queries: their tiles are in order already.
DEVICE Block key_block_of(Problem& p, int tiles, int rows) {
  const Place place = place_of(p, tiles, p.heads_k);
  return block_at(p, place, place.tile * rows);
}

// Address of the sequence's row 0. `Rows` is rapt_abi_rows in constant memory.
template <class Rows>
DEVICE char* first_row_of(const Rows& rows, int batch, const Span& span, int head) {
  return static_cast<char*>(rows.data) + batch * rows.batch + span.first * rows.seq + head * rows.head;
}

// The statistics of the sequence's row 0 in a head of q.
DEVICE rapt_abi_row_statistics* statistics_of(BackwardArguments& a, int batch, const Span& q, int head) {
  return a.statistics.data + batch * a.statistics.batch + head * a.statistics.head + q.first;
}

// The same for dq's sums.
DEVICE float* sums_of(BackwardArguments& a, int batch, const Span& q, int head) {
  return a.dq_sum.data + (batch * a.statistics.batch + head * a.statistics.head + q.first) * a.dq_sum.dims;
}

}  // namespace rapt::RAPT_VENDOR
