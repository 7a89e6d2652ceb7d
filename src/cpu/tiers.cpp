// The list of tiers and whether this machine supports each. Checked here, in code built for the baseline: a function in
// a tier's own object may contain the instructions that it checks for. The build defines RAPT_TIER_<name> for what it
// has.
#include <cerrno>

#include "cpu/cpu.hpp"
#include "cpu/tile_permission.hpp"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace rapt::cpu {

namespace portable {
extern const Kernels kKernels;
}
namespace avx2 {
extern const Kernels kKernels;
}
namespace avx512 {
extern const Kernels kKernels;
}
namespace avx512_bf16 {
extern const Kernels kKernels;
}
namespace amx_bf16 {
extern const Kernels kKernels;
}

namespace {

#ifdef __x86_64__
// clang 16's __builtin_cpu_supports does not know f16c. It adds no registers, so the system's support follows from
// avx2.
// Cached: in a virtual machine cpuid exits to the hypervisor, which takes 10 us, and every call needs its tier.
bool has_f16c() {
  static const bool has = [] {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
  }();
  return has;
}
[[maybe_unused]] bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}
[[maybe_unused]] bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}
[[maybe_unused]] bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

bool processor_has_amx_bf16() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24;  // of cpuid 7, edx
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return has_avx512_bf16() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kBf16) && (edx & kTile);
}
// Why the system refuses AMX to this process; "" if it does not, or if the processor has none. Asked once.
const std::string& amx_refused() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  static const std::string why =
      processor_has_amx_bf16() ? tiles_refused(syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0 ? 0 : errno)
                               : "";
  return why;
}
bool has_amx_bf16() {
  static const bool has = processor_has_amx_bf16() && amx_refused().empty();
  return has;
}
#endif

const char* not_refused() { return ""; }

const Tier kTiers[] = {
#ifdef RAPT_TIER_amx_bf16
    {"amx_bf16", "AVX-512 F, BW, VL, DQ and BF16, AMX with BF16, and the system's permission to use AMX", has_amx_bf16,
     [] { return amx_refused().c_str(); }, amx_bf16::kKernels},
#endif
#ifdef RAPT_TIER_avx512_bf16
    {"avx512_bf16", "AVX-512 F, BW, VL, DQ and BF16", has_avx512_bf16, not_refused, avx512_bf16::kKernels},
#endif
#ifdef RAPT_TIER_avx512
    {"avx512", "AVX-512 F, BW, VL and DQ", has_avx512, not_refused, avx512::kKernels},
#endif
#ifdef RAPT_TIER_avx2
    {"avx2", "AVX2, FMA and F16C", has_avx2, not_refused, avx2::kKernels},
#endif
    {"portable", "nothing", [] { return true; }, not_refused, portable::kKernels}};

// Whether dot products of bf16 are slower than converting to fp32 and FMAs: on Intel they have half the rate of FMAs,
// on Zen 4 twice (docs/performance/cpu.md).
#if defined RAPT_TIER_avx512_bf16 && defined RAPT_TIER_avx512
bool has_slow_bf16() { return __builtin_cpu_is("intel"); }
#else
bool has_slow_bf16() { return false; }
#endif
#ifndef __x86_64__
bool has_amx_bf16() { return false; }
#endif

}  // namespace

size_t tier_count() { return sizeof kTiers / sizeof kTiers[0]; }
const Tier& tier(size_t index) {
  // avx512_bf16 and avx512, which change places if dot products are slow.
#ifdef RAPT_TIER_amx_bf16
  constexpr size_t kBf16 = 1, kFp32 = 2;
#else
  constexpr size_t kBf16 = 0, kFp32 = 1;
#endif
  if (!has_slow_bf16()) return kTiers[index];
  return kTiers[index == kBf16 ? kFp32 : index == kFp32 ? kBf16 : index];
}
const Kernels& without_dots() {
#ifdef RAPT_TIER_avx512
  return avx512::kKernels;
#else
  return portable::kKernels;
#endif
}
const char* order_reason() {
  for (const Tier& t : kTiers)
    if (*t.refused()) return t.refused();
  return has_slow_bf16() && !has_amx_bf16() ? "on Intel, dot products of bf16 are slower than converting to fp32" : "";
}

}  // namespace rapt::cpu
