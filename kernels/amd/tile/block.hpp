// Which rows of which head a workgroup computes.
#pragma once

#include "kernels/abi.h"
#include "kernels/amd/isa/device.hpp"

namespace rapt::amd {

// The kernel's arguments where the hardware has them: constant memory that scalar loads read.
using Arguments = const __attribute__((address_space(4))) rapt_forward_args;

DEVICE Arguments& arguments() { return *(Arguments*)__builtin_amdgcn_kernarg_segment_ptr(); }

// The same arguments, read anew: what only a rare path or the end needs is not to fill scalar registers all along.
DEVICE Arguments& here(Arguments& a) {
  auto address = reinterpret_cast<uint64_t>(&a);
  asm volatile("" : "+s"(address));
  return *reinterpret_cast<Arguments*>(address);
}

// Workgroups start in the order of their number. Where later rows attend more keys they come first, so that the last
// ones to run are short. On a GPU of several dies, workgroup n runs on die n % xcds: all tiles of a head, and the heads
// that share its keys, are given to one die, whose L2 then reads K and V from memory once.
struct Place {
  int tile, head, batch;
};

DEVICE Place place_of(Arguments& a) {
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
  Span q, k;      // the sequence's rows
  int first_row;  // within the sequence, of the workgroup
  int diagonal;   // query i stands at key i + diagonal
};

DEVICE Block block_of(Arguments& a, int rows) {
  const Place place = place_of(a);
  Block b;
  b.head = place.head;
  b.batch = place.batch;
  b.q = sequence(a.cu_seqlens_q, place.batch, a.total_q, a.seqlen_q);
  b.k = sequence(a.cu_seqlens_k, place.batch, a.total_k, a.seqlen_k);
  b.first_row = place.tile * rows;
  b.diagonal = a.top_left ? 0 : b.k.count - b.q.count;
  return b;
}

// Row 0 of the sequence; `Rows` is rapt_abi_rows in constant memory.
template <class Rows>
DEVICE char* first_row_of(const Rows& rows, int batch, const Span& span, int head) {
  return static_cast<char*>(rows.data) + batch * rows.batch + span.first * rows.seq + head * rows.head;
}

}  // namespace rapt::amd
