// An array indexed by a run-time value cannot live in registers.
#include "device.hpp"

RAPT_TEST_KERNEL(float* data, const int* index) {
  const unsigned thread = __builtin_amdgcn_workitem_id_x();
  float value[64];
  for (int i = 0; i < 64; ++i) value[index[i] & 63] = data[thread + i * kThreads];
  data[thread] = value[index[thread] & 63];
}
