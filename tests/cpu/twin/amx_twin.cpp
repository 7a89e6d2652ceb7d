// The amx_bf16 tier on the twin of its tiles: the include path finds the twin's header before src's.
#define RAPT_TIER amx_twin
#include "cpu/tiers/tier.hpp"
