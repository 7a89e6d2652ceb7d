/* What Hopper's forward kernels take beside abi.h's arguments: options on scores. Freestanding, as abi.h. */
#ifndef RAPT_KERNELS_HOPPER_ARGUMENTS_H
#define RAPT_KERNELS_HOPPER_ARGUMENTS_H

#include "kernels/abi.h"

/* A bias or mask, of which boxes of 128 bytes of a row are copied. The map has one query, head or sequence where all
 * share the tensor; per_query, per_head or per_batch is then 0, and else 1. */
struct rapt_hopper_score_tiles {
  struct rapt_abi_tensor_map map; /* of 16-bit columns: a mask's are pairs of keys */
  int32_t boxes;                  /* of a row of a tile: 2 of a bias, 1 of a mask, 0 if there is none */
  int32_t box_bytes;
  int32_t per_query, per_head, per_batch;
};

/* The coefficients of a polynomial of x^2 that is tanh(x) / x within 2^-23, where x^2 is at most the second number. */
#define RAPT_TANH_POLYNOMIAL {0.9999999f, -0.33331365f, 0.13270923f, -0.04754911f}
#define RAPT_TANH_MOST_SQUARE 0.16f

/* Softcap of a score s, where x = s * scale / softcap. If s^2 is at most most_square, its logit is s times the
 * polynomial of s^2 with these coefficients. most_square is below 0 if float32 does not hold them. */
struct rapt_hopper_softcap {
  float coefficients[4];
  float most_square;
  float inverse; /* 1 / softcap */
};

struct rapt_hopper_scores {
  struct rapt_hopper_score_tiles bias, mask;
  struct rapt_hopper_softcap softcap;
  int32_t last_keys_first; /* with causal ALiBi: the first keys then have the largest logits */
  /* What turns the results of the options into logits, and those into the log2 domain: scores that are only masked are
   * still to be scaled, other results are logits. */
  float unit, unit_log2, unit_log2_inverse;
};

/* Slices of 64 queries (attention/slices.hpp). all.turns.tiles are then the parts of a head, and q's boxes have a
 * slice's rows. */
#define RAPT_SLICE_KEYS 64
struct rapt_hopper_slices {
  int32_t count; /* of a part; 0: groups of warps share tiles of queries */
  int32_t tiles; /* of keys, which any row attends */
  int32_t keys;  /* of such a tile: RAPT_SLICE_KEYS or block_k */
};

struct rapt_hopper_forward_scores_args {
  struct rapt_hopper_forward_args all;
  struct rapt_hopper_scores scores;
  /* 0 batches: K and V are no KV cache. Else sequences of their maps are its rows, or its pages. */
  struct rapt_abi_cache cache;
  struct rapt_hopper_slices slices;
};

/* Of the backward pass. Kernels without options take the beginning. */
struct rapt_hopper_backward_scores_args {
  struct rapt_hopper_backward_args all;
  struct rapt_hopper_scores scores;
  int32_t last_heads; /* of the last section, which may have more than all.heads_at_once */
};

#endif
