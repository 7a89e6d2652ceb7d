/* The part of the C ABI for devices, their memory, and archives of kernels. rapt.h includes it. */
#ifndef RAPT_DEVICES_H
#define RAPT_DEVICES_H

#include "rapt/rapt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---------------------------------------------------------------------------------------------------- */

/* The host is the only device of type RAPT_CPU. GPUs are listed by their run-time library, which is opened on first
 * use. For AMD it is the file that the environment variable RAPT_HIP_LIBRARY names, or else the first of
 * libamdhip64.so.7, .6, .5 and .so that the process has loaded or can find. For NVIDIA it is the file that
 * RAPT_CUDA_LIBRARY names, or else libcuda.so.1. If the library cannot be opened, the status is RAPT_DEVICE_ERROR and
 * the message says what was tried. A library that finds no GPU gives count 0. */
RAPT_API rapt_status rapt_device_count(rapt_device_type type, int32_t* count);

/* The strings stay valid until the process ends. */
typedef struct rapt_device_info {
  size_t struct_size;
  const char* name;      /* "AMD Instinct MI300X" */
  const char* arch;      /* "gfx942" or "sm_90"; "" for the host */
  const char* target;    /* the run-time library's name: "gfx942:sramecc+:xnack-", "sm_90" */
  const char* runtime;   /* the run-time's name and version: "ROCm, HIP 7.1.25424", "CUDA driver 13.0" */
  const char* library;   /* the file of the run-time library */
  uint64_t memory;       /* bytes */
  int32_t compute_units; /* on the host: hardware threads */
  /* Deprecated: ask the library named above for its symbol rapt_sim_time_model (docs/simulator.md).
   * simulator is 1 where there is no GPU. time_model forecasts the times of the simulator's events; it is "" where
   * nothing is forecast. */
  int32_t simulator;
  const char* time_model;
  /* Whose archive the device uses: GPUs with the same instructions share one. "gfx1100" for a gfx1102; arch for most.
   */
  const char* archive;
} rapt_device_info;

/* The caller sets info->struct_size. */
RAPT_API rapt_status rapt_describe_device(rapt_device device, rapt_device_info* info);

/* Device memory through the run-time library: hipMalloc, hipFree, hipMemcpy and hipDeviceSynchronize, or cuMemAlloc,
 * cuMemFree, cuMemcpy and cuCtxSynchronize; on the host aligned_alloc and free. rapt_device_copy waits for the device's
 * earlier work, as hipMemcpy does, and returns when the copy is complete. */
RAPT_API rapt_status rapt_device_alloc(rapt_device device, size_t bytes, void** data);
RAPT_API rapt_status rapt_device_free(rapt_device device, void* data);
RAPT_API rapt_status rapt_device_copy(rapt_device to_device, void* to, rapt_device from_device, const void* from,
                                      size_t bytes);
RAPT_API rapt_status rapt_device_synchronize(rapt_device device);

/* A point in the work of a GPU's default stream (hipEvent_t, CUevent), to time what lies between two. The device
 * measures the time. rapt_event_elapsed waits for `to`, and is an error if either was not recorded. */
typedef struct rapt_event rapt_event;
RAPT_API rapt_status rapt_event_create(rapt_device device, rapt_event** event);
RAPT_API rapt_status rapt_event_destroy(rapt_event* event);
RAPT_API rapt_status rapt_event_record(rapt_event* event);
RAPT_API rapt_status rapt_event_elapsed(const rapt_event* from, const rapt_event* to, double* milliseconds);

/* Loads the kernel that runs a problem on a GPU, or with NULL every kernel of the device's archive, so that later calls
 * load nothing. Call it before capturing a stream, where loading and allocating are forbidden. Does nothing on the
 * host. */
RAPT_API rapt_status rapt_preload(rapt_device device, const rapt_problem* problem, rapt_op op);

/* ---- kernel archives -------------------------------------------------------------------------------------------- */

/* The kernels compiled for one GPU architecture are one file, <arch>.rapt. An open archive can be used by many threads
 * at once. The error for a damaged archive names the file and what is wrong. */
typedef struct rapt_archive rapt_archive;

/* Fields that only AMD kernels have. */
typedef struct rapt_amd_kernel {
  size_t struct_size;
  int32_t agprs;     /* accumulation registers per thread; also counted in `registers` if they share that file */
  int32_t sgprs;     /* scalar registers per wave */
  int32_t occupancy; /* waves per SIMD */
} rapt_amd_kernel;

/* Fields that only NVIDIA kernels have. */
typedef struct rapt_nvidia_kernel {
  size_t struct_size;
  int32_t occupancy; /* warps per partition; a multiprocessor has four partitions */
} rapt_nvidia_kernel;

/* One compiled kernel. Its strings, `amd` and `nvidia` are valid as long as the archive is open. */
typedef struct rapt_kernel {
  size_t struct_size;
  const char* name;      /* "forward.d128.bf16.plain.k64w8" */
  const char* operation; /* "forward" */
  const char* symbol;    /* in the code object */
  const char* features;  /* "plain", "scores": with bias, mask, ALiBi and softcap, "general": with dropout too */
  const char* p;         /* how P is rounded: "nearest", "truncated", "exact" */
  rapt_dtype dtype;
  int32_t head_dim;                 /* the tile: the largest head_dim and head_dim_v */
  int32_t block_q, block_k;         /* queries per workgroup, keys per step */
  int32_t waves, threads;           /* per workgroup; NVIDIA calls a wave a warp */
  int32_t registers;                /* per thread, 32 bits each: AMD's VGPRs */
  int32_t shared_memory;            /* bytes per workgroup: AMD's LDS */
  int32_t spills;                   /* spilled registers; 0 in all kernels that Rapt ships */
  int32_t argument_size;            /* bytes */
  uint32_t crc32;                   /* of the code object */
  uint64_t size, stored_size;       /* bytes of the code object, and its share of the compressed form */
  const char* vendor;               /* "amd" or "nvidia" */
  const rapt_amd_kernel* amd;       /* NULL if the vendor is not "amd" */
  const rapt_nvidia_kernel* nvidia; /* NULL if the vendor is not "nvidia" */
  const char* stage;                /* what rows of tuning tables begin with; "" if it is of another version */
} rapt_kernel;

/* The path of each archive in RAPT_KERNEL_PATH (folders or files, separated by ':') and next to the library, the first
 * of each architecture; NULL past the last. Valid until this thread's next call. */
RAPT_API const char* rapt_archive_found(size_t index);

/* Opens an archive and checks its header and index. `place` is a file, a folder, or NULL to search as
 * rapt_archive_found does; `arch` is the architecture, such as "gfx942", or NULL if `place` is a file. */
RAPT_API rapt_status rapt_archive_open(const char* place, const char* arch, rapt_archive** archive);
RAPT_API void rapt_archive_close(rapt_archive* archive);
RAPT_API const char* rapt_archive_path(const rapt_archive* archive);
RAPT_API const char* rapt_archive_arch(const rapt_archive* archive);
RAPT_API const char* rapt_archive_compiler(const rapt_archive* archive);
RAPT_API size_t rapt_archive_count(const rapt_archive* archive);

/* Kernel `index` of rapt_archive_count; the caller sets kernel->struct_size. RAPT_UNSUPPORTED for the struct of Rapt
 * before 0.2, which had other fields. */
RAPT_API rapt_status rapt_archive_kernel(const rapt_archive* archive, size_t index, rapt_kernel* kernel);

/* Decompresses kernel `index`, checks it and writes its code object, an ELF file of rapt_kernel.size bytes. With
 * capacity 0 it only checks. */
RAPT_API rapt_status rapt_archive_code(const rapt_archive* archive, size_t index, void* code, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
