#define RAPT_TIER avx2
#include "cpu/tier.hpp"

RAPT_DEFINE_TIER(kTierAvx2, "avx2", "AVX2, FMA and F16C",
                 __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
