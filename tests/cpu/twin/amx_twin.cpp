// The amx_bf16 tier on the twin of its tiles, which is found before src's.
#define RAPT_TIER amx_twin
#include "cpu/tiers/tier.hpp"
