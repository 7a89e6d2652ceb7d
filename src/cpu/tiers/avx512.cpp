#define RAPT_TIER avx512
#include "cpu/tiers/tier.hpp"
