// The list of tiers and whether this machine runs each.
#include "cpu/cpu.hpp"

namespace rapt::cpu {

extern const Tier kTierPortable;
#ifdef RAPT_X86_TIERS
extern const Tier kTierAvx512Bf16, kTierAvx512, kTierAvx2;
#endif

namespace {

const Tier* const kTiers[] = {
#ifdef RAPT_X86_TIERS
    &kTierAvx512Bf16, &kTierAvx512, &kTierAvx2,
#endif
    &kTierPortable};

}  // namespace

size_t tier_count() { return sizeof kTiers / sizeof kTiers[0]; }
const Tier& tier(size_t index) { return *kTiers[index]; }

}  // namespace rapt::cpu
