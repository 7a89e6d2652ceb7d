// The needs of a problem: what its kernels must be able to do.
#pragma once

#include "gpu/archive.hpp"
#include "kernels/operations.hpp"
#include "problem/options.hpp"

namespace rapt::gpu {

enum class MaskKind : uint8_t { none, causal, window };

// Everything that choosing kernels for a problem reads, and so the key of remembered choices.
struct Needs : Sizes {
  rapt_op op = RAPT_FORWARD;
  MaskKind mask = MaskKind::none;
  KernelSupport options = KernelSupport::every;  // the kernels that compute the problem's options but dropout
  bool dropout = false, softcap = false;
  bool deterministic = false;
  bool cache = false;                      // K and V are a KV cache
  bool appends = false;                    // the call appends new keys to the cache, also where it has no queries
  bool rotates = false;                    // q and new keys have a rotary embedding
  bool padded_pages = false;               // a cache's sequences begin within a page
  int64_t page = 0;                        // rows of its pages; 0: none
  bool lengths_differ = false;             // sequences may have fewer keys than seqlen_k
  bool packed = false;                     // sequences are packed
  bool host_lengths = false;               // cu_seqlens are in host memory
  bool sink = false, strides_fit = true;   // strides_fit: only Triton's kernels look at it
  int32_t gradients = 0, dbias_shape = 0;  // rapt_gradient bits; rapt_broadcast_bits
  int64_t rows_q = 0;                      // of the backward pass: rows of a head in memory, all sequences together
  int64_t alignment = 16;
  bool backwards = false;          // a tensor has a negative stride, which tensor maps have not
  const Variant* named = nullptr;  // the kernel that must be in the pass; null: the tuning table decides

  bool operator==(const Needs&) const = default;

  bool general() const { return options != KernelSupport::every || dropout; }  // most plain kernels lack an option
  int64_t tile() const { return head_dim > head_dim_v ? head_dim : head_dim_v; }
  // Rows of q that share a head of k. Workgroups of such rows also append, so there is at least one.
  int64_t group_rows() const { return seqlen_q == 0 && appends ? 1 : seqlen_q * group(); }
  bool wants(int32_t gradient) const { return gradients & gradient; }
};

struct NeedsHash {
  size_t operator()(const Needs& n) const;
};

Needs needs_of(const Problem& problem, rapt_op op);

// Why no kernel of any archive takes the problem; "" if one may.
std::string unsupported(const Problem& problem);

// How a kernel cuts its stage into workgroups: tiles of block_q rows of each head of each batch, times `across` parts
// of a row.
struct Grid {
  int64_t tiles = 0;
  double workgroups = 0;
};
Grid grid_of(const Variant& v, const Needs& n);

}  // namespace rapt::gpu
