/* Two keys with logits 0 and ln 3: weights 1/4 and 3/4, so out = (4 + 3 * 8) / 4 = 7 and lse = ln 4. */
#include <math.h>
#include <stdio.h>

#include "rapt/rapt.h"

static rapt_tensor tensor(float* data, const int64_t* shape, int32_t ndim) {
  rapt_tensor t = {data, {RAPT_CPU, 0}, ndim, {RAPT_FLOAT, 32, 1}, shape, NULL, 0};
  return t;
}

int main(void) {
  const int64_t one_row[] = {1, 1, 1, 1}, two_rows[] = {1, 2, 1, 1};
  float q_data[] = {1.0f}, k_data[] = {0.0f, 1.0986123f}, v_data[] = {4.0f, 8.0f}, out_data[1], lse_data[1];
  const rapt_tensor q = tensor(q_data, one_row, 4), k = tensor(k_data, two_rows, 4), v = tensor(v_data, two_rows, 4);
  const rapt_tensor out = tensor(out_data, one_row, 4), lse = tensor(lse_data, one_row, 3);

  rapt_attention attention = RAPT_INIT(rapt_attention);
  attention.q = &q;
  attention.k = &k;
  attention.v = &v;
  rapt_forward_call call = RAPT_INIT(rapt_forward_call);
  call.attention = &attention;
  call.out = &out;
  call.lse = &lse;

  if (rapt_forward(&call) != RAPT_OK) {
    fprintf(stderr, "rapt_forward: %s\n", rapt_last_error());
    return 1;
  }
  printf("rapt %s: out %g (7), lse %g (ln 4 = %g)\n", rapt_version_string(), out_data[0], lse_data[0], log(4.0));
  return fabs(out_data[0] - 7.0) < 1e-5 && fabs(lse_data[0] - log(4.0)) < 1e-6 ? 0 : 1;
}
