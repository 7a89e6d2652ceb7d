// Asks for the grid's size, which the run-time library would have to pass.
#include "device.hpp"

RAPT_TEST_KERNEL(unsigned* out) { *out = __builtin_amdgcn_workgroup_size_x(); }
