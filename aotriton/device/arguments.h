/* What the host passes to the kernels of helpers.hip by value. */
#ifndef RAPT_AOTRITON_DEVICE_ARGUMENTS_H
#define RAPT_AOTRITON_DEVICE_ARGUMENTS_H

#include <stdint.h>

/* Row i of sequence b is at data + b * batch + (its head) * head + i * row; packed, at (cu_seqlens[b] + i) * row, with
 * batch 0. Strides are in elements. */
struct rapt_aot_lse {
  float* data;
  int64_t batch, head, row;
  int32_t packed;
};

/* Writes `from` to `to`, each number times `factor`, and +Inf for -Inf, by which Rapt marks rows that attend nothing.
 * The grid has heads * batch workgroups in y, and in x one for 256 rows. */
struct rapt_aot_convert_lse {
  struct rapt_aot_lse from, to;
  const int32_t* cu_seqlens; /* null: each sequence has `rows` rows */
  int32_t rows, heads;       /* of the longest sequence; past the end of a shorter one, `to` becomes +Inf */
  float factor;
};

/* A thread writes 2 rows of 4 columns: the grid has batch * heads workgroups in z, pairs of rows in y, and in x one for
 * 256 * 4 columns. Strides are in bytes. */
struct rapt_aot_encode_dropout {
  char* data;
  int64_t batch, head, row, column;
  int32_t heads, rows, columns;
  int32_t element;         /* bytes: 2 or 4 */
  uint32_t kept, dropped;  /* the elements' bits */
  uint32_t keep_threshold; /* of philox.h */
  uint32_t offset;
  uint64_t seed;
};

#endif
