/* The part of the C ABI that is about devices, their memory, and archives of kernels. rapt.h includes it. */
#ifndef RAPT_DEVICES_H
#define RAPT_DEVICES_H

#include "rapt/rapt.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- devices ---------------------------------------------------------------------------------------------------- */

/* The host is the one device of RAPT_CPU. GPUs are those that their run-time library lists, which is opened on first
 * use: the libamdhip64.so.7, .6, .5 or .so that the process has already, or else can find; or the file that the
 * environment's RAPT_HIP_LIBRARY names. RAPT_DEVICE_ERROR where it cannot be opened, with what was tried; no devices
 * where it finds none. */
RAPT_API rapt_status rapt_device_count(rapt_device_type type, int32_t* count);

/* The strings live until the process ends. */
typedef struct rapt_device_info {
  size_t struct_size;
  const char* name;      /* "AMD Instinct MI300X" */
  const char* arch;      /* "gfx942", what archives are named by; "" of the host */
  const char* target;    /* "gfx942:sramecc+:xnack-", as the run-time names it */
  const char* runtime;   /* "ROCm, HIP 7.1.25424", or that it is the simulator */
  const char* library;   /* the file of the run-time library */
  uint64_t memory;       /* bytes */
  int32_t compute_units; /* of the host: threads that it runs at once */
  int32_t simulator;     /* 1: no GPU, docs/simulator.md */
} rapt_device_info;

/* The caller sets info->struct_size. */
RAPT_API rapt_status rapt_describe_device(rapt_device device, rapt_device_info* info);

/* Memory of a device, as its run-time's own functions give it: hipMalloc, hipFree, hipMemcpy and hipDeviceSynchronize;
 * the host's by aligned_alloc and free. A copy is done when rapt_device_copy returns, and waits for the device's work
 * before it as hipMemcpy does. */
RAPT_API rapt_status rapt_device_alloc(rapt_device device, size_t bytes, void** data);
RAPT_API rapt_status rapt_device_free(rapt_device device, void* data);
RAPT_API rapt_status rapt_device_copy(rapt_device to_device, void* to, rapt_device from_device, const void* from,
                                      size_t bytes);
RAPT_API rapt_status rapt_device_synchronize(rapt_device device);

/* Loads the kernel that runs a problem on a GPU, or with NULL every kernel of the device's archive, so that the calls
 * to come load nothing: as capturing a stream needs, where loading and allocating are forbidden. Nothing to do on the
 * host. */
RAPT_API rapt_status rapt_preload(rapt_device device, const rapt_problem* problem, rapt_op op);

/* ---- kernel archives -------------------------------------------------------------------------------------------- */

/* The kernels compiled for one GPU architecture are one file, <arch>.rapt. An open archive can be used by many threads
 * at once; what is wrong with a damaged one is an error that names the file. */
typedef struct rapt_archive rapt_archive;

/* What only AMD's kernels have. */
typedef struct rapt_amd_kernel {
  size_t struct_size;
  int32_t agprs;     /* accumulation registers of a thread; where they share the registers' file, counted there too */
  int32_t sgprs;     /* scalar registers of a wave */
  int32_t occupancy; /* waves a SIMD */
} rapt_amd_kernel;

/* One compiled kernel. Strings and vendors' structs live as long as the archive is open. */
typedef struct rapt_kernel {
  size_t struct_size;
  const char* name;      /* "forward.d128.bf16.plain.k64w8" */
  const char* operation; /* "forward" */
  const char* symbol;    /* in the code object */
  const char* features;  /* "plain", or "general": also bias, mask, ALiBi, softcap, dropout */
  const char* p;         /* how P is rounded: "nearest", "truncated", "exact" */
  rapt_dtype dtype;
  int32_t head_dim;           /* the tile: the largest head_dim and head_dim_v */
  int32_t block_q, block_k;   /* queries a workgroup, keys a step */
  int32_t waves, threads;     /* a workgroup; a wave of NVIDIA's is a warp */
  int32_t registers;          /* of a thread, 32 bits each: AMD's VGPRs */
  int32_t shared_memory;      /* bytes of a workgroup: AMD's LDS */
  int32_t spills;             /* registers that the compiler had no room for; 0 in all kernels that Rapt ships */
  int32_t argument_size;      /* bytes */
  uint32_t crc32;             /* of the code object */
  uint64_t size, stored_size; /* bytes of the code object, and of its compressed form */
  const char* vendor;         /* "amd" */
  const rapt_amd_kernel* amd; /* NULL where the vendor is another */
} rapt_kernel;

/* The path of each archive in RAPT_KERNEL_PATH (folders or files, separated by ':') and beside the library, the first
 * of each architecture; NULL past the last. Valid until this thread's next call. */
RAPT_API const char* rapt_archive_found(size_t index);

/* Opens and checks the header and index. `place` is a file, a folder, or NULL for where rapt_archive_found looks;
 * `arch` is the architecture wanted, such as "gfx942", or NULL where `place` is a file. */
RAPT_API rapt_status rapt_archive_open(const char* place, const char* arch, rapt_archive** archive);
RAPT_API void rapt_archive_close(rapt_archive* archive);
RAPT_API const char* rapt_archive_path(const rapt_archive* archive);
RAPT_API const char* rapt_archive_arch(const rapt_archive* archive);
RAPT_API const char* rapt_archive_compiler(const rapt_archive* archive);
RAPT_API size_t rapt_archive_count(const rapt_archive* archive);

/* Kernel `index` of rapt_archive_count; the caller sets kernel->struct_size. RAPT_UNSUPPORTED for the struct of Rapt
 * before 0.2, whose fields were others and at other places. */
RAPT_API rapt_status rapt_archive_kernel(const rapt_archive* archive, size_t index, rapt_kernel* kernel);

/* Decompresses kernel `index`, checks it and writes its code object, an ELF file of rapt_kernel.size bytes. capacity 0
 * only the checks. */
RAPT_API rapt_status rapt_archive_code(const rapt_archive* archive, size_t index, void* code, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif
