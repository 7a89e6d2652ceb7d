#define RAPT_TIER avx512_bf16
#include "cpu/tiers/tier.hpp"
