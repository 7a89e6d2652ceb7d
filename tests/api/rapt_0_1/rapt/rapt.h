/* The declarations in rapt.h of Rapt 0.1.0, without its comments: programs of 0.1 were compiled with these. */
#ifndef RAPT_RAPT_H
#define RAPT_RAPT_H
#include <stddef.h>
#include <stdint.h>
#define RAPT_VERSION_MAJOR 0
#define RAPT_VERSION_MINOR 1
#define RAPT_VERSION_PATCH 0
#if defined(_WIN32)
#define RAPT_API
#else
#define RAPT_API __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
extern "C" {
#endif
typedef enum rapt_status {
  RAPT_OK = 0,
  RAPT_INVALID_ARGUMENT = 1,
  RAPT_UNSUPPORTED = 2,
  RAPT_OUT_OF_MEMORY = 3,
  RAPT_DEVICE_ERROR = 4,
  RAPT_INTERNAL_ERROR = 5
} rapt_status;
RAPT_API int32_t rapt_version(void);
RAPT_API const char* rapt_version_string(void);
RAPT_API const char* rapt_last_error(void);
typedef enum rapt_device_type { RAPT_CPU = 1, RAPT_CUDA = 2, RAPT_ROCM = 10 } rapt_device_type;
typedef struct rapt_device {
  int32_t type;
  int32_t id;
} rapt_device;
typedef enum rapt_type_code {
  RAPT_INT = 0,
  RAPT_UINT = 1,
  RAPT_FLOAT = 2,
  RAPT_BFLOAT = 4,
  RAPT_BOOL = 6
} rapt_type_code;
typedef struct rapt_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} rapt_dtype;
typedef struct rapt_tensor {
  void* data;
  rapt_device device;
  int32_t ndim;
  rapt_dtype dtype;
  const int64_t* shape;
  const int64_t* strides;
  uint64_t byte_offset;
} rapt_tensor;
typedef enum rapt_causal { RAPT_NOT_CAUSAL = 0, RAPT_CAUSAL = 1, RAPT_CAUSAL_TOP_LEFT = 2 } rapt_causal;
typedef struct rapt_window {
  size_t struct_size;
  int64_t left;
  int64_t right;
} rapt_window;
typedef struct rapt_dropout {
  size_t struct_size;
  double probability;
  uint64_t seed;
  uint64_t offset;
} rapt_dropout;
typedef struct rapt_varlen {
  size_t struct_size;
  const rapt_tensor* cu_seqlens_q;
  const rapt_tensor* cu_seqlens_k;
  int64_t max_seqlen_q;
  int64_t max_seqlen_k;
  int32_t check_device_seqlens;
} rapt_varlen;
typedef struct rapt_kv_cache {
  size_t struct_size;
  const rapt_tensor* seqused_k;
  const rapt_tensor* cache_batch_idx;
  const rapt_tensor* leftpad_k;
  const rapt_tensor* block_table;
  const rapt_tensor* new_k;
  const rapt_tensor* new_v;
  const rapt_tensor* rotary_cos;
  const rapt_tensor* rotary_sin;
  int32_t rotary_interleaved;
} rapt_kv_cache;
typedef struct rapt_attention {
  size_t struct_size;
  const rapt_tensor* q;
  const rapt_tensor* k;
  const rapt_tensor* v;
  const double* softmax_scale;
  int32_t causal;
  double softcap;
  const rapt_window* window;
  const rapt_tensor* bias;
  const rapt_tensor* mask;
  const rapt_tensor* alibi_slopes;
  const rapt_tensor* sink;
  const rapt_dropout* dropout;
  const rapt_varlen* varlen;
  const rapt_kv_cache* kv_cache;
} rapt_attention;
typedef void (*rapt_task)(void* argument, int64_t index);
typedef struct rapt_executor {
  size_t struct_size;
  int32_t concurrency;
  void* context;
  void (*parallel_for)(void* context, int64_t count, rapt_task task, void* argument);
} rapt_executor;
RAPT_API rapt_status rapt_pool_create(int32_t num_threads, rapt_executor** executor);
RAPT_API void rapt_pool_destroy(rapt_executor* executor);
typedef struct rapt_execution {
  size_t struct_size;
  const char* backend;
  int32_t deterministic;
  int32_t allow_math;
  const rapt_executor* executor;
  void* stream;
  void* workspace;
  size_t workspace_size;
} rapt_execution;
typedef struct rapt_forward_call {
  size_t struct_size;
  const rapt_attention* attention;
  const rapt_tensor* out;
  const rapt_tensor* lse;
  const rapt_execution* execution;
} rapt_forward_call;
typedef struct rapt_backward_call {
  size_t struct_size;
  const rapt_attention* attention;
  const rapt_tensor* out;
  const rapt_tensor* lse;
  const rapt_tensor* dout;
  const rapt_tensor* dq;
  const rapt_tensor* dk;
  const rapt_tensor* dv;
  const rapt_tensor* dbias;
  const rapt_tensor* dsink;
  const rapt_execution* execution;
} rapt_backward_call;
#ifdef __cplusplus
#define RAPT_INIT(type)               \
  ([] {                               \
    type value = {};                  \
    value.struct_size = sizeof(type); \
    return value;                     \
  }())
#else
#define RAPT_INIT(type) ((type){.struct_size = sizeof(type)})
#endif
RAPT_API rapt_status rapt_forward(const rapt_forward_call* call);
RAPT_API rapt_status rapt_backward(const rapt_backward_call* call);
RAPT_API rapt_status rapt_workspace_size(const rapt_forward_call* forward, const rapt_backward_call* backward,
                                         size_t* bytes);
typedef enum rapt_broadcast_bits { RAPT_PER_BATCH = 1, RAPT_PER_HEAD = 2, RAPT_PER_QUERY = 4 } rapt_broadcast_bits;
typedef struct rapt_problem {
  size_t struct_size;
  int64_t batch, heads_q, heads_k, seqlen_q, seqlen_k, head_dim, head_dim_v;
  rapt_dtype dtype;
  int32_t causal;
  int32_t has_window, has_scale, has_bias, has_mask, has_alibi, has_sink, deterministic;
  int32_t bias_shape, mask_shape;
  int64_t window_left, window_right;
  double softcap, dropout, softmax_scale;
  int64_t page;
  int64_t varlen_count;
  const int64_t* varlen;
} rapt_problem;
RAPT_API rapt_status rapt_problem_parse(const char* text, rapt_problem* problem, int64_t* varlen,
                                        size_t varlen_capacity);
RAPT_API rapt_status rapt_problem_print(const rapt_problem* problem, char* text, size_t capacity, size_t* length);
typedef enum rapt_op { RAPT_FORWARD = 0, RAPT_BACKWARD = 1 } rapt_op;
typedef struct rapt_candidate {
  const char* backend;
  const char* kernel;
  int32_t chosen;
  const char* reason;
} rapt_candidate;
typedef struct rapt_explanation rapt_explanation;
RAPT_API rapt_status rapt_explain(const rapt_forward_call* forward, const rapt_backward_call* backward,
                                  rapt_explanation** explanation);
RAPT_API rapt_status rapt_explain_problem(const rapt_problem* problem, rapt_op op, rapt_device device,
                                          const rapt_execution* execution, rapt_explanation** explanation);
RAPT_API const char* rapt_explanation_problem(const rapt_explanation* explanation);
RAPT_API size_t rapt_explanation_count(const rapt_explanation* explanation);
RAPT_API rapt_candidate rapt_explanation_candidate(const rapt_explanation* explanation, size_t index);
RAPT_API void rapt_explanation_free(rapt_explanation* explanation);
RAPT_API const char* rapt_cpu_tier(size_t index, int32_t* available);
RAPT_API rapt_status rapt_device_count(rapt_device_type type, int32_t* count);
typedef struct rapt_device_info {
  size_t struct_size;
  const char* name;
  const char* arch;
  const char* target;
  const char* runtime;
  const char* library;
  uint64_t memory;
  int32_t compute_units;
  int32_t simulator;
} rapt_device_info;
RAPT_API rapt_status rapt_describe_device(rapt_device device, rapt_device_info* info);
RAPT_API rapt_status rapt_device_alloc(rapt_device device, size_t bytes, void** data);
RAPT_API rapt_status rapt_device_free(rapt_device device, void* data);
RAPT_API rapt_status rapt_device_copy(rapt_device to_device, void* to, rapt_device from_device, const void* from,
                                      size_t bytes);
RAPT_API rapt_status rapt_device_synchronize(rapt_device device);
RAPT_API rapt_status rapt_preload(rapt_device device, const rapt_problem* problem, rapt_op op);
typedef struct rapt_archive rapt_archive;
typedef struct rapt_kernel {
  size_t struct_size;
  const char* name;
  const char* operation;
  const char* symbol;
  const char* features;
  const char* p;
  rapt_dtype dtype;
  int32_t head_dim;
  int32_t block_q, block_k;
  int32_t waves, threads;
  int32_t lds;
  int32_t vgprs, agprs, sgprs;
  int32_t occupancy;
  int32_t kernarg_size;
  uint32_t crc32;
  uint64_t size, stored_size;
} rapt_kernel;
RAPT_API const char* rapt_archive_found(size_t index);
RAPT_API rapt_status rapt_archive_open(const char* place, const char* arch, rapt_archive** archive);
RAPT_API void rapt_archive_close(rapt_archive* archive);
RAPT_API const char* rapt_archive_path(const rapt_archive* archive);
RAPT_API const char* rapt_archive_arch(const rapt_archive* archive);
RAPT_API const char* rapt_archive_compiler(const rapt_archive* archive);
RAPT_API size_t rapt_archive_count(const rapt_archive* archive);
RAPT_API rapt_status rapt_archive_kernel(const rapt_archive* archive, size_t index, rapt_kernel* kernel);
RAPT_API rapt_status rapt_archive_code(const rapt_archive* archive, size_t index, void* code, size_t capacity);
#ifdef __cplusplus
}
#endif
#endif
