/* What the host passes to the kernels of helpers.hip by value. */
#ifndef RAPT_AOTRITON_DEVICE_ARGUMENTS_H
#define RAPT_AOTRITON_DEVICE_ARGUMENTS_H

#include <stdint.h>

/* Row i of sequence b and a head h is at data + b * batch + h * head + (first[b] + i) * row, in bytes; a null `first`
 * is zeros. */
struct rapt_aot_rows {
  char* data;
  int64_t batch, head, row;
  const int32_t* first;
};

/* Workgroup w of a dimension with `step` workgroups has w, w + step, ... of the `count` pairs of batch and head: some
 * GPUs count only to 65535 beyond the first dimension. */
struct rapt_aot_pairs {
  int32_t count, step, heads;
};

/* Writes `from` to `to`, each number times `factor`, and +Inf for -Inf: Rapt marks rows that attend nothing with -Inf.
 * The grid has pairs in y, and in x a workgroup for 256 rows. */
struct rapt_aot_convert_lse {
  struct rapt_aot_rows from, to;
  const int32_t* cu_seqlens; /* null: each sequence has `rows` rows */
  struct rapt_aot_pairs pairs;
  int32_t rows; /* of the longest sequence */
  int32_t pads; /* 1: past the end of a shorter sequence, `to` becomes +Inf */
  float factor;
};

/* Copies the rows of all sequences. The grid has pairs in y, and in x a workgroup for each row of the longest
 * sequence. */
struct rapt_aot_copy_rows {
  struct rapt_aot_rows from, to;
  const int32_t* cu_seqlens;
  struct rapt_aot_pairs pairs;
  int32_t halves; /* in a row, 2 bytes each */
};

/* sums[0] = 0, sums[n + 1] = sums[n] + lengths[n]: one workgroup, of which one thread works. */
struct rapt_aot_sum_lengths {
  const int32_t* lengths;
  int32_t* sums;
  int32_t count;
};

/* value + *data, where data is given. */
struct rapt_aot_number {
  uint64_t value;
  const uint64_t* data;
};

/* Writes a call's dropout seed and offset to the outputs that are given: one workgroup. */
struct rapt_aot_write_numbers {
  struct rapt_aot_number seed, offset;
  uint64_t *seed_output, *offset_output; /* null: not wanted */
};

/* A thread writes 2 rows of 4 columns: the grid has pairs in z, in y a workgroup for 2 rows, and in x one for 256 * 4
 * columns. Strides are in bytes. */
struct rapt_aot_encode_dropout {
  char* data;
  int64_t batch, head, row, column;
  struct rapt_aot_pairs pairs;
  int32_t rows, columns;
  int32_t element;         /* bytes: 2 or 4 */
  uint32_t kept, dropped;  /* the elements' bits */
  uint32_t keep_threshold; /* of philox.h */
  struct rapt_aot_number seed, offset;
};

#endif
