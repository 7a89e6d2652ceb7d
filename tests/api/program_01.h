/* The calls of program_01.c, without Rapt's own types: the tests that call them know today's rapt.h. */
#ifndef RAPT_TESTS_API_PROGRAM_01_H
#define RAPT_TESTS_API_PROGRAM_01_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* fp32 tensors of the problem "b1 hq2 hk1 sq3 sk5 d8 fp32 causal window=2,0 bias=b1hN softcap=20 sink drop=0.25". */
struct tensors_01 {
  const void *q, *k, *v, *bias, *sink, *dout;
  void *out, *lse, *dq, *dk, *dv, *dbias, *dsink;
  uint64_t seed, offset; /* of dropout */
};

/* Runs forward and backward on the cpu backend; returns the first rapt_status that is not RAPT_OK. */
int attend_as_01(const struct tensors_01* tensors);

/* The status of rapt_archive_kernel for the first kernel of an archive, and whether it wrote anything. */
int describe_kernel_as_01(const char* path, int* written);

#ifdef __cplusplus
}
#endif
#endif
