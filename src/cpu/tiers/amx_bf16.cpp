// bf16 forward passes on AMX's tiles; everything else as the avx512 tier.
#define RAPT_TIER amx_bf16
#include "cpu/tiers/tier.hpp"
