/* rapt.h as a C11 program sees it: compiles by itself, runs one call, and gives C++ the sizes in C. */
#include "rapt/rapt.h"

#include <string.h>

const size_t rapt_c_sizes[] = {
    sizeof(rapt_tensor),       sizeof(rapt_window),        sizeof(rapt_dropout),  sizeof(rapt_varlen),
    sizeof(rapt_kv_cache),     sizeof(rapt_attention),     sizeof(rapt_executor), sizeof(rapt_execution),
    sizeof(rapt_forward_call), sizeof(rapt_backward_call), sizeof(rapt_problem),  sizeof(rapt_candidate),
};

/* One query, two equal keys: out is the mean of the values. Returns 0 if so. */
int rapt_c_call(void) {
  float q[] = {1.f}, k[] = {0.5f, 0.5f}, v[] = {1.f, 3.f}, out[] = {0.f};
  const int64_t one[] = {1, 1, 1, 1}, two[] = {1, 2, 1, 1};
  const rapt_dtype fp32 = {RAPT_FLOAT, 32, 1};
  const rapt_device cpu = {RAPT_CPU, 0};
  const rapt_tensor tq = {q, cpu, 4, fp32, one, NULL, 0}, tk = {k, cpu, 4, fp32, two, NULL, 0};
  const rapt_tensor tv = {v, cpu, 4, fp32, two, NULL, 0}, to = {out, cpu, 4, fp32, one, NULL, 0};
  rapt_attention attention = RAPT_INIT(rapt_attention);
  rapt_forward_call call = RAPT_INIT(rapt_forward_call);
  attention.q = &tq;
  attention.k = &tk;
  attention.v = &tv;
  call.attention = &attention;
  call.out = &to;
  if (rapt_forward(&call) != RAPT_OK) return 1;
  return out[0] == 2.f && strlen(rapt_version_string()) > 0 ? 0 : 2;
}
