// Blocks of bf16 queries on AMX's tiles, forward and backward; everything else as the avx512 tier.
#define RAPT_TIER amx_bf16
#include "cpu/tiers/tier.hpp"
