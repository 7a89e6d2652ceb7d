// The compiler's vector types of 16 bytes: SSE2, NEON, or whatever the target's baseline has.
#define RAPT_TIER portable
#include "cpu/tiers/tier.hpp"
