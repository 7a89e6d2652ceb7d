/* RAPT_DEVICE_INLINE: a function that host and device have. */
#ifndef RAPT_KERNELS_COMMON_INLINE_H
#define RAPT_KERNELS_COMMON_INLINE_H

#if defined(__HIP__) || defined(__CUDACC__)
#define RAPT_DEVICE_INLINE static __device__ __host__ inline __attribute__((always_inline))
#else
#define RAPT_DEVICE_INLINE static inline __attribute__((always_inline))
#endif

#endif
