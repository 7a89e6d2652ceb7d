/* A program that was compiled with the rapt.h of Rapt 0.1: rapt_0_1/rapt/rapt.h. It links today's library. */
#include "rapt/rapt.h"

#include <string.h>

#include "program_01.h"

#if RAPT_VERSION_MAJOR != 0 || RAPT_VERSION_MINOR != 1
#error "this program must be compiled with the rapt.h of Rapt 0.1"
#endif

enum { kHeadsQ = 2, kHeadsK = 1, kQueries = 3, kKeys = 5, kHeadDim = 8 };
static const int64_t kQ[] = {1, kQueries, kHeadsQ, kHeadDim}, kK[] = {1, kKeys, kHeadsK, kHeadDim};
static const int64_t kLse[] = {1, kHeadsQ, kQueries}, kBias[] = {1, kHeadsQ, kQueries, kKeys}, kSink[] = {kHeadsQ};

static rapt_tensor tensor(const void* data, int32_t ndim, const int64_t* shape) {
  const rapt_tensor t = {(void*)data, {RAPT_CPU, 0}, ndim, {RAPT_FLOAT, 32, 1}, shape, NULL, 0};
  return t;
}

int attend_as_01(const struct tensors_01* t) {
  const rapt_tensor q = tensor(t->q, 4, kQ), k = tensor(t->k, 4, kK), v = tensor(t->v, 4, kK);
  const rapt_tensor bias = tensor(t->bias, 4, kBias), sink = tensor(t->sink, 1, kSink);
  const rapt_tensor out = tensor(t->out, 4, kQ), lse = tensor(t->lse, 3, kLse), dout = tensor(t->dout, 4, kQ);
  const rapt_tensor dq = tensor(t->dq, 4, kQ), dk = tensor(t->dk, 4, kK), dv = tensor(t->dv, 4, kK);
  const rapt_tensor dbias = tensor(t->dbias, 4, kBias), dsink = tensor(t->dsink, 1, kSink);

  rapt_window window = RAPT_INIT(rapt_window);
  window.left = 2;
  rapt_dropout dropout = RAPT_INIT(rapt_dropout);
  dropout.probability = 0.25;
  dropout.seed = t->seed;
  dropout.offset = t->offset;
  rapt_attention attention = RAPT_INIT(rapt_attention);
  attention.q = &q;
  attention.k = &k;
  attention.v = &v;
  attention.causal = RAPT_CAUSAL;
  attention.softcap = 20;
  attention.window = &window;
  attention.bias = &bias;
  attention.sink = &sink;
  attention.dropout = &dropout;

  rapt_execution execution = RAPT_INIT(rapt_execution);
  execution.backend = "cpu";
  rapt_forward_call forward = RAPT_INIT(rapt_forward_call);
  forward.attention = &attention;
  forward.out = &out;
  forward.lse = &lse;
  forward.execution = &execution;
  const int status = rapt_forward(&forward);
  if (status != RAPT_OK) return status;

  rapt_backward_call backward = RAPT_INIT(rapt_backward_call);
  backward.attention = &attention;
  backward.out = &out;
  backward.lse = &lse;
  backward.dout = &dout;
  backward.dq = &dq;
  backward.dk = &dk;
  backward.dv = &dv;
  backward.dbias = &dbias;
  backward.dsink = &dsink;
  backward.execution = &execution;
  return rapt_backward(&backward);
}

int describe_kernel_as_01(const char* path, int* written) {
  rapt_archive* archive = NULL;
  rapt_kernel kernel, before;
  int status = rapt_archive_open(path, NULL, &archive);
  if (status != RAPT_OK) return status;
  memset(&kernel, 0x5a, sizeof kernel);
  kernel.struct_size = sizeof kernel;
  before = kernel;
  status = rapt_archive_kernel(archive, 0, &kernel);
  *written = memcmp(&before, &kernel, sizeof kernel) != 0;
  rapt_archive_close(archive);
  return status;
}
