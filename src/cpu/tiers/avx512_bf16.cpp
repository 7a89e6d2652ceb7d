#define RAPT_TIER avx512_bf16
#include "cpu/tier.hpp"
