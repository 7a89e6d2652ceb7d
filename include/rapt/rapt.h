/* Rapt: exact scaled-dot-product attention, forward and backward, in O(N) memory.
 *
 * This is the C ABI. Every struct begins with `struct_size`, which the caller sets to sizeof(the struct) (the
 * RAPT_INIT macro does it); a newer library reads an older caller's struct by that size. Optional parts are pointers
 * to sub-structs: NULL means "not used". No function prints, aborts or throws; each returns a rapt_status, and
 * rapt_last_error() has the sentence. All functions may be called from many threads at once.
 *
 * Logical tensor order is [batch, seqlen, heads, head_dim] with any strides but a contiguous head_dim; packed variable
 * length is [total, heads, head_dim]. docs/naming.md has the vocabulary, docs/architecture.md the formulas.
 */
#ifndef RAPT_RAPT_H
#define RAPT_RAPT_H

#include <stddef.h>
#include <stdint.h>

#define RAPT_VERSION_MAJOR 0
#define RAPT_VERSION_MINOR 2
#define RAPT_VERSION_PATCH 0

#if defined(_WIN32)
#define RAPT_API
#else
#define RAPT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- results ---------------------------------------------------------------------------------------------------- */

typedef enum rapt_status {
  RAPT_OK = 0,
  RAPT_INVALID_ARGUMENT = 1, /* an argument is wrong; the message names it, its value and what is allowed */
  RAPT_UNSUPPORTED = 2,      /* the arguments are right, but no backend takes them; the message says why */
  RAPT_OUT_OF_MEMORY = 3,
  RAPT_DEVICE_ERROR = 4,  /* a driver call failed */
  RAPT_INTERNAL_ERROR = 5 /* a defect in Rapt: please report it */
} rapt_status;

/* Packed as major * 10000 + minor * 100 + patch. */
RAPT_API int32_t rapt_version(void);
RAPT_API const char* rapt_version_string(void);

/* The message of this thread's last failed call; "" if none failed. Valid until this thread's next failure. */
RAPT_API const char* rapt_last_error(void);

/* ---- tensors (laid out like DLPack's DLTensor) ------------------------------------------------------------------ */

typedef enum rapt_device_type { RAPT_CPU = 1, RAPT_CUDA = 2, RAPT_ROCM = 10 } rapt_device_type;

typedef struct rapt_device {
  int32_t type; /* rapt_device_type */
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
  uint8_t code; /* rapt_type_code */
  uint8_t bits;
  uint16_t lanes; /* always 1 here */
} rapt_dtype;

typedef struct rapt_tensor {
  void* data;
  rapt_device device;
  int32_t ndim;
  rapt_dtype dtype;
  const int64_t* shape;   /* [ndim] */
  const int64_t* strides; /* [ndim], in elements; NULL = compact row-major */
  uint64_t byte_offset;
} rapt_tensor;

/* ---- what to compute -------------------------------------------------------------------------------------------- */

typedef enum rapt_causal {
  RAPT_NOT_CAUSAL = 0,
  RAPT_CAUSAL = 1, /* bottom-right aligned: query i sees keys j <= i + seqlen_k - seqlen_q (flash-attn >= 2.1) */
  RAPT_CAUSAL_TOP_LEFT = 2 /* query i sees keys j <= i (PyTorch's is_causal) */
} rapt_causal;

/* Keeps keys j in [i + off - left, i + off + right], inclusive; off is 0 for RAPT_CAUSAL_TOP_LEFT or with `top_left`,
 * and otherwise seqlen_k - seqlen_q. -1 is unbounded, any other negative value an error. With any causal mode, right
 * is 0. */
typedef struct rapt_window {
  size_t struct_size;
  int64_t left;
  int64_t right;

  /* since 0.2 */
  int32_t top_left; /* 1 is an error with RAPT_CAUSAL */
} rapt_window;

/* Counter-based dropout on the probabilities: the same mask on every backend (kernels/common/philox.h has the rule). */
typedef struct rapt_dropout {
  size_t struct_size;
  double probability; /* in [0, 1) */
  uint64_t seed;
  uint64_t offset;

  /* since 0.2: numbers that are added to seed and offset, modulo 2^64: int64 or uint64, [] or [1], or NULL. Kernels
   * read them from device memory when they run, so that a captured stream draws a new mask at each replay. */
  const rapt_tensor* seed_tensor;
  const rapt_tensor* offset_tensor;
} rapt_dropout;

/* Sequences of different lengths, packed: sequence b is rows cu_seqlens[b] to cu_seqlens[b + 1] - 1. cu_seqlens are
 * int32 [batch + 1], start at 0 and never decrease. In host memory they are validated. In device memory they are not
 * read back, and kernels clamp them to max_seqlen and total. With `check_device_seqlens` they are validated there too,
 * which waits for the stream. cu_seqlens_k is NULL if a KV cache is given.
 *
 * With GPU tensors, cu_seqlens in host memory are copied in stream order, to the workspace or, without one, to memory
 * that the stream allocates. Pinned cu_seqlens must not change before this copy. Each replay of a captured stream
 * copies them again, so they must be in pinned memory as long as it is replayed. */
typedef struct rapt_varlen {
  size_t struct_size;
  const rapt_tensor* cu_seqlens_q; /* q, out, dq are [total_q, heads_q, head_dim]; lse is [heads_q, total_q] */
  const rapt_tensor* cu_seqlens_k; /* k, v, dk, dv are [total_k, heads_k, head_dim] */
  int64_t max_seqlen_q;            /* 0: taken from cu_seqlens, which must be in host memory */
  int64_t max_seqlen_k;
  int32_t check_device_seqlens;
} rapt_varlen;

/* With a cache, attention's k and v are the cache: [cache_batch, capacity, heads_k, head_dim], or with a block_table
 * pages [num_blocks, page, heads_k, head_dim]. Sequence b's keys are cache rows leftpad_k[b] to seqused_k[b] - 1, then
 * the new ones. Forward only. */
typedef struct rapt_kv_cache {
  size_t struct_size;
  const rapt_tensor* seqused_k;       /* int32 [batch]: rows in use before this call; NULL = the whole capacity */
  const rapt_tensor* cache_batch_idx; /* int32 [batch]: the cache row of each sequence; NULL = b; not with pages */
  const rapt_tensor* leftpad_k;       /* int32 [batch]: rows to skip at the front; NULL = 0 */
  const rapt_tensor* block_table;     /* int32 [batch, max_blocks]: page numbers */
  const rapt_tensor* new_k;           /* [batch, seqlen_new, heads_k, head_dim], written to rows seqused_k[b] ... of */
  const rapt_tensor* new_v;           /* the cache before attending; needs seqused_k */
  const rapt_tensor* rotary_cos; /* [positions, rotary_dim / 2], the type of q or fp32: rotates new_k at position */
  const rapt_tensor* rotary_sin; /* seqused_k[b] + i, and q at seqused_k[b] + i (causal or window) or seqused_k[b] */
  int32_t rotary_interleaved;    /* 1: pairs (0,1), (2,3), ...; 0: pairs (x, x + rotary_dim / 2) */
} rapt_kv_cache;

/* s = softmax_scale * (q . k); s = softcap * tanh(s / softcap); s += bias; s -= slope * |i + off - j|; excluded keys
 * become -inf; P = softmax over keys and the sink; out = dropout(P) v. A row with no keys to attend gives out 0,
 * lse -inf (the sink's value if there is a sink) and gradients 0. */
typedef struct rapt_attention {
  size_t struct_size;
  const rapt_tensor* q;        /* [batch, seqlen_q, heads_q, head_dim], fp16, bf16, fp32 (fp64: math backend only) */
  const rapt_tensor* k;        /* [batch, seqlen_k, heads_k, head_dim]; heads_q is a multiple of heads_k */
  const rapt_tensor* v;        /* [batch, seqlen_k, heads_k, head_dim_v]; head dims 1 to 576 */
  const double* softmax_scale; /* NULL: 1 / sqrt(head_dim) */
  int32_t causal;              /* rapt_causal */
  double softcap;              /* 0: none */
  const rapt_window* window;
  const rapt_tensor* bias;         /* [batch|1, heads_q|1, seqlen_q|1, seqlen_k|1], the type of q or fp32 */
  const rapt_tensor* mask;         /* same shape, bool or uint8: nonzero attends */
  const rapt_tensor* alibi_slopes; /* fp32, [heads_q] or [batch, heads_q] */
  const rapt_tensor* sink;         /* [heads_q], the type of q, fp16, bf16 or fp32: one more logit per row, unscaled */
  const rapt_dropout* dropout;
  const rapt_varlen* varlen;
  const rapt_kv_cache* kv_cache;
} rapt_attention;

/* ---- how to run it ---------------------------------------------------------------------------------------------- */

typedef void (*rapt_task)(void* argument, int64_t index);

/* Runs task(argument, i) once for each i in [0, count), in any order, on any threads, and returns when all are done.
 * Rapt never starts more than `concurrency` tasks. Results do not depend on the executor. */
typedef struct rapt_executor {
  size_t struct_size;
  int32_t concurrency;
  void* context;
  void (*parallel_for)(void* context, int64_t count, rapt_task task, void* argument);
} rapt_executor;

/* A pool of num_threads threads, including the calling one (0: one per core), as an executor. */
RAPT_API rapt_status rapt_pool_create(int32_t num_threads, rapt_executor** executor);
RAPT_API void rapt_pool_destroy(rapt_executor* executor);

typedef struct rapt_execution {
  size_t struct_size;
  const char* backend;   /* NULL or "auto", or what rapt_explain lists: "cpu", "cuda", "hip", "math", "cuda.<kernel>" */
  int32_t deterministic; /* 1: bitwise reproducible results */
  int32_t allow_math;    /* 1: "auto" may choose the slow math backend for any size */
  const rapt_executor* executor; /* CPU tensors; NULL: Rapt's own pool */
  void* stream;                  /* GPU tensors: the hipStream_t or cudaStream_t */
  void* workspace;               /* 64-byte aligned, on the tensors' device; NULL: Rapt allocates */
  size_t workspace_size;         /* bytes, at least rapt_workspace_size() */
} rapt_execution;

typedef struct rapt_forward_call {
  size_t struct_size;
  const rapt_attention* attention;
  const rapt_tensor* out; /* [batch, seqlen_q, heads_q, head_dim_v], the type of q */
  const rapt_tensor* lse; /* optional, [batch, heads_q, seqlen_q], fp32 (fp64 if q is), natural log */
  const rapt_execution* execution;
} rapt_forward_call;

typedef struct rapt_backward_call {
  size_t struct_size;
  const rapt_attention* attention; /* as in the forward call; no KV cache */
  const rapt_tensor* out;          /* the forward's results */
  const rapt_tensor* lse;
  const rapt_tensor* dout; /* as out */
  const rapt_tensor* dq;   /* each gradient is optional, at least one is given */
  const rapt_tensor* dk;
  const rapt_tensor* dv;
  const rapt_tensor* dbias; /* the shape and type of bias: summed over the broadcast dimensions */
  const rapt_tensor* dsink; /* the shape and type of sink */
  const rapt_execution* execution;
} rapt_backward_call;

/* A struct with its size set and nothing else: rapt_window window = RAPT_INIT(rapt_window). */
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

/* Example: causal attention of 128 rows on the CPU. 8 heads of q share 2 heads of k and v.
 *
 *     static float q[128 * 8 * 64], k[128 * 2 * 64], v[128 * 2 * 64], out[128 * 8 * 64];
 *     const int64_t like_q[] = {1, 128, 8, 64}, like_k[] = {1, 128, 2, 64};
 *     const rapt_device cpu = {RAPT_CPU, 0};
 *     const rapt_dtype fp32 = {RAPT_FLOAT, 32, 1};
 *     const rapt_tensor tensors[] = {{q, cpu, 4, fp32, like_q, NULL, 0}, {k, cpu, 4, fp32, like_k, NULL, 0},
 *                                    {v, cpu, 4, fp32, like_k, NULL, 0}, {out, cpu, 4, fp32, like_q, NULL, 0}};
 *
 *     rapt_attention attention = RAPT_INIT(rapt_attention);
 *     attention.q = &tensors[0];
 *     attention.k = &tensors[1];
 *     attention.v = &tensors[2];
 *     attention.causal = RAPT_CAUSAL;
 *     rapt_forward_call call = RAPT_INIT(rapt_forward_call);
 *     call.attention = &attention;
 *     call.out = &tensors[3];
 *     if (rapt_forward(&call) != RAPT_OK) {
 *       fprintf(stderr, "%s\n", rapt_last_error());
 *       return 1;
 *     }
 */
RAPT_API rapt_status rapt_forward(const rapt_forward_call* call);
RAPT_API rapt_status rapt_backward(const rapt_backward_call* call);

/* Bytes of workspace that a call can use, possibly 0. One of the two calls is given, the other is NULL. */
RAPT_API rapt_status rapt_workspace_size(const rapt_forward_call* forward, const rapt_backward_call* backward,
                                         size_t* bytes);

/* ---- problems as text ------------------------------------------------------------------------------------------- */

typedef enum rapt_op { RAPT_FORWARD = 0, RAPT_BACKWARD = 1 } rapt_op;

/* The dimensions in which a bias or mask has its full size; every other dimension has size 1. */
typedef enum rapt_broadcast_bits { RAPT_PER_BATCH = 1, RAPT_PER_HEAD = 2, RAPT_PER_QUERY = 4 } rapt_broadcast_bits;

/* The results that a backward pass computes. */
typedef enum rapt_gradient_bits {
  RAPT_GRADIENT_Q = 1,
  RAPT_GRADIENT_K = 2,
  RAPT_GRADIENT_V = 4,
  RAPT_GRADIENT_BIAS = 8,
  RAPT_GRADIENT_SINK = 16
} rapt_gradient_bits;

/* A problem without its tensors, e.g. "b2 hq8 hk2 sq1000 sk1000 d128 bf16 causal window=127,0" (docs/naming.md has
 * the grammar). Printing a parsed problem gives the canonical text. */
typedef struct rapt_problem {
  size_t struct_size;
  int64_t batch, heads_q, heads_k, seqlen_q, seqlen_k, head_dim, head_dim_v;
  rapt_dtype dtype;
  int32_t causal; /* rapt_causal */
  int32_t has_window, has_scale, has_bias, has_mask, has_alibi, has_sink, deterministic;
  int32_t bias_shape, mask_shape; /* rapt_broadcast_bits */
  int64_t window_left, window_right;
  double softcap, dropout, softmax_scale;
  int64_t page;          /* 0: not paged */
  int64_t varlen_count;  /* 0 or batch */
  const int64_t* varlen; /* [varlen_count][2]: seqlen_q, seqlen_k of each sequence */

  /* since 0.2 */
  int64_t total_q, total_k;           /* rows of packed q, and of packed k and v, with device_lengths */
  int32_t device_lengths;             /* packed, with cu_seqlens in device memory */
  int32_t has_cache, whole_cache;     /* k and v are a KV cache; it has no seqused_k */
  int32_t has_leftpad, has_batch_idx; /* the cache has this part */
  int32_t rotary_interleaved;
  int64_t seqlen_new, rotary_dim; /* rows appended to the cache; 0: no rotary embedding */
  int32_t wants_lse;              /* the forward pass writes lse */
  int32_t gradients;              /* that the backward pass writes, rapt_gradient_bits; 0: dq, dk and dv */
  int64_t alignment;              /* least alignment of every tensor's data and rows in bytes, 1 to 16; 0: 16 */
  int64_t row_stride;             /* largest distance of rows in elements; 0: at most compact rows of all heads */
  int32_t window_top_left;
  int32_t bias_fp32; /* the bias is float32, q is not */
  int32_t backwards; /* rows, heads or sequences of a tensor lie at negative strides */
} rapt_problem;

/* An option of problems. `form` is its token in a text, "softcap=<x>" or "causal|causal-tl". */
typedef struct rapt_option {
  size_t struct_size;
  const char* name; /* as in rapt_problem */
  const char* form;
  const char* help;
  int32_t is_number;         /* 1: a call takes it as a number */
  const char* default_value; /* "0": the value of a number that a text omits; "" if there is none */
} rapt_option;

/* Option `index`, in the order of the problem text; the caller sets option->struct_size. RAPT_INVALID_ARGUMENT past
 * the last. */
RAPT_API size_t rapt_option_count(void);
RAPT_API rapt_status rapt_option_at(size_t index, rapt_option* option);

/* Parses and validates; reports every violation. The caller sets problem->struct_size to the size of its header's
 * struct. Rapt 0.1 did not read it, so any size but this header's is taken for a program of 0.1. Then only the fields
 * of 0.1 are filled, struct_size becomes their size, and a text that they cannot express is RAPT_UNSUPPORTED. `varlen`
 * receives the pairs and must hold `varlen_capacity` of them (the number of ':' in the text is enough); problem->varlen
 * then points there.
 */
RAPT_API rapt_status rapt_problem_parse(const char* text, rapt_problem* problem, int64_t* varlen,
                                        size_t varlen_capacity);

/* Floating-point operations of one pass: 2 * (head_dim + head_dim_v) for each pair of query and key that causality and
 * window allow, times 2.5 in the backward pass. Every sequence of a cache counts with the longest one's length. */
RAPT_API rapt_status rapt_problem_flops(const rapt_problem* problem, rapt_op op, double* flops);

/* Writes the canonical text, and its length without the terminating 0. With capacity 0, only the length. */
RAPT_API rapt_status rapt_problem_print(const rapt_problem* problem, char* text, size_t capacity, size_t* length);

/* ---- what would run, and why not the others --------------------------------------------------------------------- */

typedef struct rapt_candidate {
  const char* backend;
  const char* kernel; /* the variant it runs, or would run if chosen; "" if it has none */
  int32_t chosen;     /* 1 for at most one candidate */
  const char* reason; /* why it was chosen or refused */
} rapt_candidate;

typedef struct rapt_explanation rapt_explanation;

/* Exactly one of the two calls is given. Nothing is computed or written.
 *
 * Example: prints the backends for a problem, each with the reason why it runs the problem or does not.
 *
 *     rapt_problem problem = RAPT_INIT(rapt_problem);
 *     rapt_explanation* explanation = NULL;
 *     const rapt_device cpu = {RAPT_CPU, 0};
 *     if (rapt_problem_parse("b1 hq8 hk2 sq512 sk512 d64 bf16 causal", &problem, NULL, 0) != RAPT_OK ||
 *         rapt_explain_problem(&problem, RAPT_FORWARD, cpu, NULL, &explanation) != RAPT_OK) {
 *       fprintf(stderr, "%s\n", rapt_last_error());
 *       return 1;
 *     }
 *     for (size_t i = 0; i < rapt_explanation_count(explanation); ++i) {
 *       const rapt_candidate c = rapt_explanation_candidate(explanation, i);
 *       printf("%s %s: %s\n", c.chosen ? "->" : "  ", c.backend, c.reason);
 *     }
 *     rapt_explanation_free(explanation);
 */
RAPT_API rapt_status rapt_explain(const rapt_forward_call* forward, const rapt_backward_call* backward,
                                  rapt_explanation** explanation);
RAPT_API rapt_status rapt_explain_problem(const rapt_problem* problem, rapt_op op, rapt_device device,
                                          const rapt_execution* execution, rapt_explanation** explanation);
RAPT_API const char* rapt_explanation_problem(const rapt_explanation* explanation); /* canonical text */
RAPT_API size_t rapt_explanation_count(const rapt_explanation* explanation);
RAPT_API rapt_candidate rapt_explanation_candidate(const rapt_explanation* explanation, size_t index);
RAPT_API void rapt_explanation_free(rapt_explanation* explanation);

/* The CPU instruction tiers, fastest on this processor first, and whether this machine runs them: "avx512_bf16", ...,
 * "portable". Returns NULL past the last. */
RAPT_API const char* rapt_cpu_tier(size_t index, int32_t* available);

#ifdef __cplusplus
}
#endif

#include "rapt/devices.h"

#endif
