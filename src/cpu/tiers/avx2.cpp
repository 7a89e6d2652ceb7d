#define RAPT_TIER avx2
#include "cpu/tiers/tier.hpp"
