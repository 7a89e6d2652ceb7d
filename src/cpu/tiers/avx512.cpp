#define RAPT_TIER avx512
#include "cpu/tier.hpp"
