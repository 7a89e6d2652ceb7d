#define RAPT_TIER avx512_bf16
#include "cpu/tier.hpp"

RAPT_DEFINE_TIER(kTierAvx512Bf16, "avx512_bf16", "AVX-512 F, BW, VL, DQ and BF16",
                 __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("avx512bf16"))
