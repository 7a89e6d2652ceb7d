// Which rows of which head a workgroup computes, and where they lie.
#pragma once

#include "kernels/abi.h"
#include "kernels/amd/device.hpp"

namespace rapt::amd {

using Arguments = rapt_forward_args;

// Workgroups start in the order of their number. Where later rows attend more keys they come first, so that the last
// ones to run are short. On a GPU of several dies, workgroup n runs on die n % xcds: all tiles of a head, and the heads
// that share its keys, are given to one die, whose L2 then reads K and V from memory once.
struct Place {
  int tile, head, batch;
};

DEVICE Place place_of(const Arguments& a) {
  const int id = workgroup_id(), heads = a.heads_q * a.batch;
  int tile, head;
  const int share = heads / a.xcds;  // heads a die; what is left over goes to all dies
  if (a.xcds > 1 && id < share * a.xcds * a.q_tiles) {
    const int turn = id / a.xcds;
    head = id % a.xcds * share + turn / a.q_tiles;
    tile = turn % a.q_tiles;
  } else if (a.longest_first && a.xcds == 1) {
    head = id % heads;
    tile = id / heads;
  } else {
    head = id / a.q_tiles;
    tile = id % a.q_tiles;
  }
  return {a.longest_first ? a.q_tiles - 1 - tile : tile, head % a.heads_q, head / a.heads_q};
}

struct Span {
  int first, count;
};

// Rows of one sequence; cu_seqlens that lie outside the tensor are clamped to it, never followed.
DEVICE Span sequence(const int32_t* cu_seqlens, int batch, int total, int largest) {
  if (cu_seqlens == nullptr) return {0, largest};
  const int first = clamp(cu_seqlens[batch], 0, total);
  return {first, min(clamp(cu_seqlens[batch + 1], first, total) - first, largest)};
}

struct Block {
  int head, batch;
  int first_row;              // within the sequence, of the workgroup
  int seqlen_q, seqlen_k;
  int diagonal;               // query i stands at key i + diagonal
  const char *q, *k, *v;      // row 0 of the sequence
  char* out;
  float* lse;                 // of row 0, or null
};

DEVICE Block block_of(const Arguments& a, int rows) {
  const Place place = place_of(a);
  const Span query = sequence(a.cu_seqlens_q, place.batch, a.total_q, a.seqlen_q);
  const Span key = sequence(a.cu_seqlens_k, place.batch, a.total_k, a.seqlen_k);
  const int head_k = place.head / a.group;
  Block b;
  b.head = place.head;
  b.batch = place.batch;
  b.first_row = place.tile * rows;
  b.seqlen_q = query.count;
  b.seqlen_k = key.count;
  b.diagonal = a.top_left ? 0 : key.count - query.count;
  const auto row = [&](const rapt_abi_rows& rows, const Span& span, int head) {
    return static_cast<char*>(rows.data) + place.batch * rows.batch + span.first * rows.seq + head * rows.head;
  };
  b.q = row(a.q, query, place.head);
  b.k = row(a.k, key, head_k);
  b.v = row(a.v, key, head_k);
  b.out = row(a.out, query, place.head);
  b.lse = a.lse.data == nullptr
              ? nullptr
              : reinterpret_cast<float*>(reinterpret_cast<char*>(a.lse.data) + place.batch * a.lse.batch +
                                         place.head * a.lse.head + query.first * a.lse.query);
  return b;
}

}  // namespace rapt::amd
