#define RAPT_TIER avx512
#include "cpu/tier.hpp"

RAPT_DEFINE_TIER(kTierAvx512, "avx512", "AVX-512 F, BW, VL and DQ",
                 __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
