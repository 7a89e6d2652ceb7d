#include "cpu/cpu.hpp"
#include "problem/error.hpp"

namespace rapt::cpu {

extern const Tier kTierAvx512Bf16;
const Tier kTierAvx512Bf16 = {"avx512_bf16", "a kernel, which is being written",
                      [] { return false; },
                      [](const ForwardCall&) { return "none"; },
                      [](const BackwardCall&) { return "none"; },
                      [](const ForwardCall&, int32_t) -> size_t { return 0; },
                      [](const BackwardCall&, int32_t) -> size_t { return 0; },
                      [](const ForwardCall&, const rapt_executor&, char*) { throw Error(RAPT_UNSUPPORTED, "being written"); },
                      [](const BackwardCall&, const rapt_executor&, char*) { throw Error(RAPT_UNSUPPORTED, "being written"); }};

}  // namespace rapt::cpu
