#define RAPT_TIER avx2
#include "cpu/tier.hpp"
