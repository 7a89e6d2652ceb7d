#include "sim/machine/atomic/atomic.hpp"

#include <algorithm>
#include <type_traits>

namespace rapt::sim {
namespace {

using Op32 = u32 (*)(u32 old, u32 data, u32 data2, FloatRules);
using Op64 = u64 (*)(u64 old, u64 data, u64 data2, FloatRules);

// One lane after the other, starting with lane 0.
template <typename T, auto Op, bool Shared>
void run(const AtomicOperands& o) {
  const auto operand = [&o](const u32* rows, unsigned l) {
    if constexpr (sizeof(T) == 4) return rows[l];
    else return rows[l] | u64{rows[o.width + l]} << 32;
  };
  for_lanes(o.lanes, [&](unsigned l) {
    T* at = reinterpret_cast<T*>(o.at[l]);
    const T data = operand(o.data, l), data2 = operand(o.data2, l);
    T old;
    if constexpr (Shared) {
      old = __atomic_load_n(at, __ATOMIC_RELAXED);
      while (!__atomic_compare_exchange_n(at, &old, Op(old, data, data2, o.rules), true, __ATOMIC_SEQ_CST,
                                          __ATOMIC_RELAXED)) {
      }
    } else {
      old = *at;
      *at = Op(old, data, data2, o.rules);
    }
    if (!o.result) return;
    o.result[l] = static_cast<u32>(old);
    if constexpr (sizeof(T) == 8) o.result[o.width + l] = static_cast<u32>(old >> 32);
  });
}

template <Op32 Op>
constexpr AtomicKernel k32(FloatUse use = FloatUse::none) {
  return {4, use, run<u32, Op, true>, run<u32, Op, false>};
}
template <Op64 Op>
constexpr AtomicKernel k64(FloatUse use = FloatUse::none) {
  return {8, use, run<u64, Op, true>, run<u64, Op, false>};
}

template <typename T>
struct Integer {
  using S = std::make_signed_t<T>;
  static T swap(T, T data, T, FloatRules) { return data; }
  static T cmpswap(T old, T data, T compare, FloatRules) { return old == compare ? data : old; }
  static T add(T old, T data, T, FloatRules) { return old + data; }
  static T sub(T old, T data, T, FloatRules) { return old - data; }
  static T rsub(T old, T data, T, FloatRules) { return data - old; }
  static T inc(T old, T data, T, FloatRules) { return old >= data ? 0 : old + 1; }
  static T dec(T old, T data, T, FloatRules) { return old == 0 || old > data ? data : old - 1; }
  static T smin(T old, T data, T, FloatRules) {
    return static_cast<T>(std::min(static_cast<S>(old), static_cast<S>(data)));
  }
  static T smax(T old, T data, T, FloatRules) {
    return static_cast<T>(std::max(static_cast<S>(old), static_cast<S>(data)));
  }
  static T umin(T old, T data, T, FloatRules) { return std::min(old, data); }
  static T umax(T old, T data, T, FloatRules) { return std::max(old, data); }
  static T band(T old, T data, T, FloatRules) { return old & data; }
  static T bor(T old, T data, T, FloatRules) { return old | data; }
  static T bxor(T old, T data, T, FloatRules) { return old ^ data; }
  static T mskor(T old, T mask, T data, FloatRules) { return (old & ~mask) | data; }
  static T sub_clamp(T old, T data, T, FloatRules) { return old < data ? 0 : old - data; }
  static T cond_sub(T old, T data, T, FloatRules) { return old >= data ? old - data : old; }
  static T wrap(T old, T data, T data2, FloatRules) { return old >= data ? old - data : old + data2; }
};

template <const valu::FloatFormat& F, typename T>
struct Float {
  static T add(T old, T data, T, FloatRules r) { return static_cast<T>(atomic_float::add<F>(old, data, r)); }
  static T min(T old, T data, T, FloatRules r) { return static_cast<T>(atomic_float::extreme<F, false>(old, data, r)); }
  static T max(T old, T data, T, FloatRules r) { return static_cast<T>(atomic_float::extreme<F, true>(old, data, r)); }
  static T cmpswap(T old, T data, T compare, FloatRules r) {
    return atomic_float::equal<F>(old, compare, r) ? data : old;
  }
  static u32 pk_add(u32 old, u32 data, u32, FloatRules r) {
    return static_cast<u32>(atomic_float::add<F>(old & 0xffff, data & 0xffff, r) |
                            atomic_float::add<F>(old >> 16, data >> 16, r) << 16);
  }
};

using I32 = Integer<u32>;
using I64 = Integer<u64>;
using F32 = Float<valu::format_f32, u32>;
using F64 = Float<valu::format_f64, u64>;
using F16 = Float<valu::format_f16, u32>;
using BF16 = Float<valu::format_bf16, u32>;

// In the order of Atomic.
constexpr AtomicKernel kernels[] = {
    k32<I32::swap>(),
    k64<I64::swap>(),
    k32<I32::cmpswap>(),
    k64<I64::cmpswap>(),
    k32<I32::add>(),
    k64<I64::add>(),
    k32<I32::sub>(),
    k64<I64::sub>(),
    k32<I32::rsub>(),
    k64<I64::rsub>(),
    k32<I32::inc>(),
    k64<I64::inc>(),
    k32<I32::dec>(),
    k64<I64::dec>(),
    k32<I32::smin>(),
    k64<I64::smin>(),
    k32<I32::smax>(),
    k64<I64::smax>(),
    k32<I32::umin>(),
    k64<I64::umin>(),
    k32<I32::umax>(),
    k64<I64::umax>(),
    k32<I32::band>(),
    k64<I64::band>(),
    k32<I32::bor>(),
    k64<I64::bor>(),
    k32<I32::bxor>(),
    k64<I64::bxor>(),
    k32<I32::mskor>(),
    k64<I64::mskor>(),
    k32<I32::sub_clamp>(),
    k32<I32::cond_sub>(),
    k32<I32::wrap>(),
    k32<F32::add>(FloatUse::f32_sum),
    k32<F32::min>(FloatUse::f32),
    k32<F32::max>(FloatUse::f32),
    k32<F32::cmpswap>(FloatUse::f32),
    k64<F64::add>(FloatUse::f64_sum),
    k64<F64::min>(FloatUse::f64),
    k64<F64::max>(FloatUse::f64),
    k64<F64::cmpswap>(FloatUse::f64),
    k32<F16::pk_add>(FloatUse::f16),
    k32<BF16::pk_add>(FloatUse::f16),
};
static_assert(std::size(kernels) == static_cast<std::size_t>(Atomic::count));

}  // namespace

const AtomicKernel& atomic_kernel(Atomic operation) { return kernels[static_cast<unsigned>(operation)]; }

// L2's f32 adder flushes denormals on gfx908, gfx90a and gfx11; later ones keep them (LLVM's
// memory-atomic-fadd-f32-denormal-support; the CDNA3 and CDNA4 documents still say that they are flushed). The other
// operations keep them everywhere.
FloatRules memory_float_rules(const Wave& w, FloatUse use) {
  constexpr ArchSet flushing = only(Arch::gfx908) | only(Arch::gfx90a) | gfx11;
  const bool flush = use == FloatUse::f32_sum && contains(flushing, w.arch);
  return {flush, flush, !contains(gfx12, w.arch)};
}

FloatRules lds_float_rules(const Wave& w, FloatUse use) {
  FloatRules rules{false, false, !contains(gfx12, w.arch)};
  const u32 f32 = w.mode >> 4 & 3, f16_f64 = w.mode >> 6 & 3;
  switch (use) {
    case FloatUse::f32:
    case FloatUse::f32_sum: rules.flush_inputs = (f32 & 1) == 0, rules.flush_result = (f32 & 2) == 0; break;
    case FloatUse::f16:
    case FloatUse::f64: rules.flush_inputs = (f16_f64 & 1) == 0, rules.flush_result = (f16_f64 & 2) == 0; break;
    case FloatUse::f64_sum:
    case FloatUse::none: break;
  }
  return rules;
}

void check_aligned(const Access& access) {
  for_lanes(access.lanes, [&](unsigned lane) {
    if ((access.at[lane] & (access.bytes - 1)) != 0)
      throw Fault(FaultKind::illegal_address,
                  "atomic of " + std::to_string(access.bytes) + " bytes at a misaligned address", lane,
                  access.at[lane]);
  });
}

}  // namespace rapt::sim
