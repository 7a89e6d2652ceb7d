// The list of tiers of the tests' library rapt_twin, in place of src/cpu/tiers.cpp. It has amx_bf16 on the twin of its
// tiles, and portable if that cannot run, because a library needs a tier.
#include "cpu/cpu.hpp"

namespace rapt::cpu {

namespace amx_twin {
extern const Kernels kKernels;
}
namespace portable {
extern const Kernels kKernels;
}

namespace {

bool has_avx512_bf16() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bf16");
}

const Tier kTwin = {"amx_twin", "AVX-512 F, BW, VL, DQ and BF16", has_avx512_bf16, [] { return ""; },
                    amx_twin::kKernels};
const Tier kPortable = {"portable", "nothing", [] { return true; }, [] { return ""; }, portable::kKernels};

}  // namespace

size_t tier_count() { return 1; }
const Tier& tier(size_t) { return has_avx512_bf16() ? kTwin : kPortable; }
const Kernels& without_dots() { return portable::kKernels; }
const char* order_reason() { return ""; }

}  // namespace rapt::cpu
