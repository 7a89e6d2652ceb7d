/* The arguments that the host passes to a kernel by value: plain data, versioned by its size.
 * Freestanding: host and device include it. All strides are in bytes. */
#ifndef RAPT_KERNELS_ABI_H
#define RAPT_KERNELS_ABI_H

#include <stdint.h>

/* Types of the optional tensors whose type is not the kernel's own. */
enum rapt_abi_dtype { RAPT_ABI_FP16 = 0, RAPT_ABI_BF16 = 1, RAPT_ABI_FP32 = 2 };

/* n / d of a number d that the host knows, for n from 0 below 2^31: (2 n * factor >> 32) >> shift. GPUs have no
 * division, and compute one in some 30 instructions. */
struct rapt_abi_divisor {
  uint32_t factor, shift;
};

/* Row (b, s, h) begins at data + b * batch + s * seq + h * head. */
struct rapt_abi_rows {
  void* data;
  int64_t batch, seq, head;
};

/* Element (b, h, i, j) is at data + b * batch + h * head + i * query + j * key. data is null if not given. */
struct rapt_abi_scores {
  const void* data;
  int64_t batch, head, query, key;
};

/* The part that the arguments of every operation share: lengths, sizes and options. */
struct rapt_abi_problem {
  const int32_t* cu_seqlens_q; /* [batch + 1]: q, out and lse are packed, their batch strides 0; or null */
  const int32_t* cu_seqlens_k;
  int32_t total_q, total_k;               /* rows of packed q and k; larger cu_seqlens are clamped */
  int32_t batch, heads_q, heads_k, group; /* group = heads_q / heads_k */
  int32_t seqlen_q, seqlen_k;             /* the largest, where lengths vary */
  int32_t head_dim, head_dim_v;
  int32_t window_left, window_right; /* -1: unbounded; causality is folded in */
  int32_t top_left;                  /* 1: query i is aligned with key i; 0: with i + seqlen_k - seqlen_q */
  int32_t heads_at_once;             /* order.hpp: heads scheduled together, longest rows first; or 0 */
  int32_t xcds;                      /* workgroup n starts on XCD n % xcds; 1 if all share one cache */
  float scale;                       /* softmax_scale, above 0 for a plain kernel */
  float scale_log2;                  /* softmax_scale * log2(e), rounded once */

  /* read only by general kernels */
  float softcap;                     /* 0: none */
  struct rapt_abi_scores bias, mask; /* a mask's elements are one byte, nonzero attends */
  struct {
    const float* data; /* null: no ALiBi */
    int64_t batch, head;
  } alibi;
  int32_t bias_dtype;      /* rapt_abi_dtype */
  uint32_t keep_threshold; /* of philox.h; 65536: no dropout */
  float keep_scale;        /* 1 / (1 - probability) */
  uint64_t dropout_seed, dropout_offset;
  const int32_t* dropout_seed_data; /* null, or the two halves of a number that is added to dropout_seed */
  const int32_t* dropout_offset_data;

  /* read by every kernel */
  struct {
    const void* data; /* null: no sink */
    int64_t head;
  } sink;
  int32_t sink_dtype; /* rapt_abi_dtype */
  int32_t units;      /* order.hpp: of an XCD, where it matters which workgroups run beside each other; or 0 */
};

/* One workgroup computes block_q rows of one head; the grid has q_tiles * heads_q * batch workgroups in one dimension.
 */
struct rapt_forward_args {
  uint32_t size; /* sizeof(struct rapt_forward_args) */
  int32_t q_tiles;
  struct rapt_abi_rows q, k, v, out;
  struct {
    float* data; /* null: not wanted */
    int64_t batch, head, query;
  } lse;
  struct rapt_abi_problem problem;
};

/* What the copy engine of NVIDIA's GPUs reads of a tensor: its address, sizes, strides and the box that a copy brings.
 * The driver writes it. */
struct __attribute__((aligned(64))) rapt_abi_tensor_map {
  uint64_t words[16];
};

/* In which order workgroups compute tiles of queries: kernels/hopper/attention/turns.hpp. */
enum rapt_abi_dealing { RAPT_DEAL_EVEN = 0, RAPT_DEAL_SNAKE = 1, RAPT_DEAL_PAIRS = 2 };
struct rapt_abi_turns {
  int32_t tiles, heads; /* of each head; of all sequences */
  int32_t heads_at_once;
  int32_t dealing; /* rapt_abi_dealing */
};

/* One workgroup for each multiprocessor, or for each tile if there are fewer. The maps' boxes have 64 columns; q's has
 * the rows of a workgroup's tile, k's and v's block_k. A plain kernel of head dims up to 256 also has a tile of head
 * dims up to RAPT_NARROW_DIM, whose tiles have RAPT_NARROW_KEYS keys. It takes no KV cache. */
#define RAPT_NARROW_DIM 192
#define RAPT_NARROW_KEYS 96
struct rapt_hopper_forward_args {
  struct rapt_abi_tensor_map q, k, v;
  struct rapt_abi_turns turns;
  float scale_inverse; /* 1 / scale_log2 */
  int32_t narrow;      /* 1: that tile */
  struct rapt_forward_args forward;
};

/* A KV cache: k and v of a problem without cu_seqlens_k. Sequence b's keys are rows leftpad[b] to seqused[b] +
 * new_keys.seqlen - 1 of cache row batch_idx[b], whose rows are problem.seqlen_k, or of its pages: row r is row r %
 * page of page block_table[b * block_table_row + r / page]. Lengths and indices beyond the cache are clamped to it. */
struct rapt_abi_cache {
  const int32_t* seqused;     /* null: problem.seqlen_k - new_keys.seqlen */
  const int32_t* leftpad;     /* null: 0 */
  const int32_t* batch_idx;   /* null: b */
  const int32_t* block_table; /* null: no pages */
  int64_t block_table_row;    /* elements */
  int32_t batches;            /* cache rows, or pages */
  int32_t page;               /* rows, a multiple of 16 */
  struct rapt_abi_divisor by_page;
};

/* Rows that are written to the cache before attending: row i of sequence b becomes row seqused[b] + i. */
struct rapt_abi_new_keys {
  struct rapt_abi_rows k, v;
  int32_t seqlen;     /* 0: none */
  int32_t rotary_dim; /* 0: no rotary embedding of q and k */
  struct {
    const void* data; /* [positions, rotary_dim / 2] */
    int64_t position; /* stride in bytes */
  } cos, sin;
  int32_t positions;
  int32_t rotary_dtype; /* rapt_abi_dtype */
  int32_t interleaved;  /* 1: pairs (0, 1), (2, 3), ...; 0: pairs (x, x + rotary_dim / 2) */
  int32_t advances;     /* 1: query i of sequence b is at position seqused[b] + i; 0: all are at seqused[b] */
};

/* The softmax of a row over the keys of one split. */
struct rapt_abi_partial {
  float reference; /* softmax.hpp */
  float sum;       /* 0: no keys, and no partial result */
};

/* Split-KV: few queries, long KV. Rows of q that share a head of k are one tile: row r of a head of k is query r /
 * group of its head r % group. A workgroup of split computes 16 rows over split_rows rows of k, counted from the first
 * row of the cache or sequence. The grid has row_tiles * splits * heads_k * batch workgroups, row tiles of a split
 * first. With one split it writes out and lse. Otherwise a split writes partial results, or nothing if it begins after
 * the last key. A workgroup of split_combine merges the partial results of one row of q: the grid has heads_q *
 * seqlen_q * batch workgroups, heads first.
 *
 * NVIDIA: with one split of fewer rows than k has, a workgroup has all splits of split_rows rows, one after another,
 * and computes what split_combine would. Kernels can if a row of their tile of K has at most RAPT_FOLDED_ROW_BYTES. */
#define RAPT_FOLDED_ROW_BYTES 256
struct rapt_split_args {
  uint32_t size; /* sizeof(struct rapt_split_args) */
  int32_t row_tiles, splits, split_rows;
  struct rapt_abi_divisor by_row_tiles, by_splits, by_split_rows, by_heads_k, by_group, by_heads_q, by_seqlen_q;
  struct rapt_abi_rows q, k, v, out;
  struct {
    float* data; /* null: not wanted */
    int64_t batch, head, query;
  } lse;
  struct rapt_abi_cache cache;
  struct rapt_abi_new_keys new_keys;
  struct {
    float* out; /* [batch, heads_k, seqlen_q * group, splits, dims], not divided by the sum; or null */
    struct rapt_abi_partial* softmax; /* [batch, heads_k, seqlen_q * group, splits] */
    int32_t dims;                     /* head_dim_v, rounded up to a multiple of 4 */
    int32_t natural;                  /* 1: of a general kernel, whose logits are natural; 0: in the log2 domain */
    int32_t out_dtype;                /* rapt_abi_dtype */
  } partial;
  struct rapt_abi_problem problem;
};

/* What the later stages of the backward pass read of a row: made by backward_dq. */
struct rapt_abi_row_statistics {
  float lse;   /* +Inf where the row attends nothing: its probabilities are then 0 */
  float delta; /* rowsum(dout * out) */
};

/* The backward pass, in the order of its kernels; each grid has one dimension. A workgroup of:
 *   backward_dq     computes block_q rows of dq of one head, and writes their statistics. If backward_fused follows, it
 *                   only writes the statistics and sets the rows' dq_sum to 0.
 *
 *   backward_dkv    computes block_q rows of dk and dv of one head of k.
 *   backward_fused  does the same, and adds to dq_sum of all rows of q that attend these keys, in any order.
 *   backward_dq_round  computes block_q rows of dq of one head, from dq_sum.
 *
 *   backward_short  computes dq, dk and dv of one head of k, whose keys are at most block_q. No other kernel precedes
 * it; there are no statistics and no dq_sum.
 *
 *   backward_dbias  computes block_q rows and block_k columns of dbias, summed over all that bias is broadcast to.
 *   backward_dsink  computes one element of dsink.
 */
struct rapt_backward_args {
  uint32_t size; /* sizeof(struct rapt_backward_args) */
  int32_t tiles; /* of the kernel: of queries or keys, of rows of dbias */
  struct rapt_abi_rows q, k, v, out, dout;
  struct rapt_abi_rows dq, dk, dv; /* data is null: not wanted */
  struct {
    const float* data;
    int64_t batch, head, query;
  } lse;
  struct {
    struct rapt_abi_row_statistics* data; /* workspace */
    int64_t batch, head;                  /* in elements; packed sequences one after another, batch 0 */
  } statistics;
  struct {
    float* data;  /* workspace: dq of the statistics' rows, without softmax_scale; null without backward_fused */
    int64_t dims; /* of a row: the head dim of backward_fused's tile */
  } dq_sum;
  struct {
    void* data; /* rapt_abi_problem.bias_dtype; strides as in rapt_abi_scores */
    int64_t batch, head, query, key;
    int32_t sizes[4]; /* 1 where bias is broadcast */
  } dbias;
  struct {
    void* data; /* rapt_abi_problem.sink_dtype */
    int64_t head;
  } dsink;
  struct rapt_abi_problem problem;
};

/* Backward on Hopper: all three kernels are passed this. The maps' boxes have 64 columns; q's and dout's have a step's
 * rows, k's and v's a workgroup's, out's, dout_rows', dk's and dv's 64.
 *
 *   backward_statistics_hopper  is backward_dq of this pass. It also sets the counters to 0.
 *   backward_hopper             is backward_fused. One workgroup for each multiprocessor, or for each tile if there are
 *                               fewer: dk and dv of tiles of keys, one after another. The largest tiles of
 *                               heads_at_once heads of k come first.
 *   backward_dq_round_hopper    is backward_dq_round. It also computes dk and dv again that have an Inf or NaN.
 *
 * Unless sequences are packed, statistics.head is a multiple of 128. Packed sequences have their statistics twice. The
 * first copy has no gaps, as `statistics` says. The second copy follows, at an even number of elements. Each head has
 * (total_q / 128 + batch) * 128 rows there, and sequence i begins at row (cu_seqlens_q[i] / 128 + i) * 128. Missing
 * rows have the statistics of rows that attend nothing. lse of the statistics is in the log2 domain, or in natural
 * units with a bias or where dsink is wanted. dq_sum has blocks of 64 rows and columns, rows of blocks one after
 * another. Elements of a block lie as four warps have them (wgmma.hpp): 8 columns after 8 columns, and within 8 columns
 * thread by thread. */
struct rapt_hopper_backward_args {
  struct rapt_backward_args backward;
  struct rapt_abi_tensor_map q, k, v, out, dout, dout_rows;
  struct rapt_abi_turns turns; /* of backward_dq_hopper and backward_dkv_hopper */
  /* Workspace, of backward_hopper: tiles of keys taken so far; 1 if an element of dk or dv is Inf or NaN. Then `added`:
   * two numbers for each 64 rows of dq_sum. They are 0 where no tile has added, and dq_sum then has no numbers. */
  int32_t* counters;
  int32_t* added;
  int32_t count;    /* of counters, with added's */
  int32_t in_order; /* 1: tiles of keys add to dq_sum in a fixed order */
  int32_t heads_at_once;
};

#endif
