/* The arguments that the host passes to a kernel by value: plain data, versioned by its size.
 * Freestanding: host and device include it. All strides are in bytes. */
#ifndef RAPT_KERNELS_ABI_H
#define RAPT_KERNELS_ABI_H

#include <stdint.h>

/* Types of the optional tensors whose type is not the kernel's own. */
enum rapt_abi_dtype { RAPT_ABI_FP16 = 0, RAPT_ABI_BF16 = 1, RAPT_ABI_FP32 = 2 };

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
  int32_t heads_at_once; /* block.hpp: later rows have more keys, so of so many heads they start first; or 0 */
  int32_t xcds;          /* workgroup n starts on XCD n % xcds; 1 if all share one cache */
  float scale;           /* softmax_scale, above 0 for a plain kernel */
  float scale_log2;      /* softmax_scale * log2(e), rounded once */

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
  uint32_t dropout_offset;
  uint64_t dropout_seed;

  /* read by every kernel */
  struct {
    const void* data; /* null: no sink */
    int64_t head;
  } sink;
  int32_t sink_dtype; /* rapt_abi_dtype */
  int32_t reserved;   /* 0 */
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

/* What the later stages of the backward pass read of a row: made by backward_dq. */
struct rapt_abi_row_statistics {
  float lse;   /* +Inf where the row attends nothing: its probabilities are then 0 */
  float delta; /* rowsum(dout * out) */
};

/* The backward pass, in the order of its kernels; each grid has one dimension. A workgroup of
 *   backward_dq     computes block_q rows of dq of one head, and their statistics
 *   backward_dkv    block_q rows of dk and dv of one head of k
 *   backward_dbias  block_q rows and block_k columns of dbias, summed over everything that bias is broadcast to
 *   backward_dsink  one element of dsink
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

#endif
