// Operands of VALU operations: rows of sources and results, and what modifiers and the mode do to both.
#pragma once

#include "sim/machine/core/handlers.hpp"
#include "sim/machine/operands/types.hpp"

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace rapt::sim::valu {

template <unsigned N>
using Row = std::array<std::uint32_t, N>;
template <unsigned N>
inline constexpr std::uint64_t full_mask = N == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << N % 64) - 1;

enum class Direction : std::uint8_t { input, output };
// Whether the mode keeps denormals of the type; bf16 follows f32.
constexpr bool keeps_denormals(const Wave& w, TypeInfo type, Direction direction) {
  const bool single = type.bits == 32 || type.mantissa == format_bf16.mantissa;
  return (w.mode >> (single ? 4 : 6) >> static_cast<unsigned>(direction) & 1) != 0;
}

// ---- sources (source.cpp) ----

// Bits of an operand that is the same in every lane: an SGPR, a constant or a special source.
std::uint64_t scalar_source(const Wave& w, const Operand& o);

// A dword of an operand in every lane: the register's row itself, or `scratch` filled with it.
template <unsigned N>
inline const std::uint32_t* row_source(Wave& w, const Operand& o, unsigned dword, Row<N>& scratch) {
  if (o.kind == OperandKind::vgpr) [[likely]]
    return w.vgpr + std::size_t{o.index + dword} * N;
  if (o.kind == OperandKind::agpr) return w.vgpr + std::size_t{w.first_agpr + o.index + dword} * N;
  const auto bits = o.kind == OperandKind::constant ? static_cast<std::uint32_t>(o.value >> 32 * dword)
                                                    : static_cast<std::uint32_t>(scalar_source(w, o) >> 32 * dword);
  scratch.fill(bits);
  return scratch.data();
}

// Source k as the operation sees it: lanes moved by DPP, SDWA's selection, the half, the sign modifiers and flushing.
// If any of them applies, it fills new_lo (and new_hi for 64 bits) from the unmodified rows and returns true.
template <unsigned N>
bool modify_source(const Wave& w, const Instruction& i, unsigned k, TypeInfo type, const std::uint32_t* lo,
                   const std::uint32_t* hi, Row<N>& new_lo, Row<N>& new_hi);

// EXEC without the lanes that DPP disables (by its masks, or without bound_ctrl if the source lane is not valid).
template <unsigned N>
std::uint64_t enabled_lanes(const Wave& w, const Instruction& i);

// gfx9's VGPR indexing (MODE.gpr_idx_en): runs the handler on the instruction with its registers moved by M0, and
// returns true.
bool run_indexed(Wave& w, const Instruction& i, Handler handler);

// ---- results (result.cpp) ----

// omod, clamp and flushing of a floating-point result.
template <unsigned N>
void modify_result(const Wave& w, const Instruction& i, TypeInfo type, bool keep_denormal, std::uint32_t* lo,
                   std::uint32_t* hi);

// CLAMP on two 16-bit floats in each lane, and nothing else that modify_result does.
template <unsigned N>
void clamp_pair(const Wave& w, const Instruction& i, TypeInfo type, std::uint32_t* pairs);

// Puts 8- or 16-bit results where SDWA, op_sel or a register half selects; `keep`: the rest of the register is kept.
template <unsigned N>
void place_part(Wave& w, const Instruction& i, unsigned bits, bool keep, std::uint32_t* lo);

// ---- the common path ----

// Rows to write: `lanes` has a bit for each lane to write.
template <unsigned N>
inline void write_row(std::uint32_t* to, const std::uint32_t* from, std::uint64_t lanes) {
  if (lanes == full_mask<N>) [[likely]] {
    std::memcpy(to, from, N * sizeof *to);
    return;
  }
#ifdef __AVX512F__
  for (unsigned l = 0; l < N; l += 16)
    _mm512_mask_storeu_epi32(to + l, static_cast<__mmask16>(lanes >> l), _mm512_loadu_si512(from + l));
#else
  static constexpr auto bit = [] {
    std::array<std::uint32_t, 32> bits{};
    for (unsigned l = 0; l < 32; ++l) bits[l] = 1U << l;
    return bits;
  }();
  for (unsigned half = 0; half < N; half += 32) {
    const auto mask = static_cast<std::uint32_t>(lanes >> half);
#pragma GCC ivdep
    for (unsigned l = 0; l < 32; ++l) to[half + l] = (mask & bit[l]) != 0 ? from[half + l] : to[half + l];
  }
#endif
}

template <class T, unsigned N>
struct Source {
  const std::uint32_t* lo;
  const std::uint32_t* hi;
  std::conditional_t<T::bits == 64, std::uint64_t, std::uint32_t> bits(unsigned l) const {
    if constexpr (T::bits == 64) return lo[l] | std::uint64_t{hi[l]} << 32;
    else if constexpr (T::bits == 16) return lo[l] & 0xffff;
    else return lo[l];
  }
  typename T::Value operator[](unsigned l) const { return T::decode(bits(l)); }
};

// The MODE bits that affect an operand of the type, and their usual value.
template <class T>
constexpr std::uint32_t mode_bits() {
  if constexpr (!T::is_float) return 0;
  else if constexpr (T::bits == 32 || T::format.mantissa == format_bf16.mantissa)
    return mode::round_f32 | mode::denorm_f32;
  else return mode::round_f16_f64 | mode::denorm_f16_f64 | (T::bits == 16 ? mode::fp16_ovfl : 0);
}
inline constexpr std::uint32_t usual_mode = mode::denorm_f32 | mode::denorm_f16_f64;  // round to nearest even

// True if there are no modifiers and nothing else that needs the slow path.
template <class... T>
inline bool is_plain(const Wave& w, const Instruction& i) {
  constexpr std::uint32_t relevant = (mode_bits<T>() | ...) | mode::gpr_idx_en;
  return (i.neg | i.abs | i.op_sel | i.omod | static_cast<unsigned>(i.clamp) | static_cast<unsigned>(i.lane_map)) ==
             0 &&
         ((w.mode ^ usual_mode) & relevant) == 0;
}

template <class T>
inline Rounding rounding(const Wave& w) {
  constexpr bool single = (mode_bits<T>() & mode::round_f32) != 0;
  const auto round = static_cast<Round>(single ? w.mode & mode::round_f32 : (w.mode & mode::round_f16_f64) >> 2);
  return {round, T::bits == 16 && (w.mode & mode::fp16_ovfl) != 0};
}

// While it lives, the host, which otherwise rounds to nearest, rounds as the mode says.
class HostRounding {
 public:
  explicit HostRounding(Round mode) : changed_(mode != Round::nearest) {
    if (changed_) [[unlikely]]
      set(mode);
  }
  ~HostRounding() {
    if (changed_) set(Round::nearest);
  }
  HostRounding(const HostRounding&) = delete;
  HostRounding& operator=(const HostRounding&) = delete;

 private:
  static void set(Round mode);
  bool changed_;
};

template <unsigned N>
struct Scratch {
  alignas(64) Row<N> lo;
  alignas(64) Row<N> hi;
};

template <class T, unsigned N>
inline Source<T, N> fetch(Wave& w, const Instruction& i, unsigned k, bool plain, Scratch<N>& scratch) {
  const Operand& o = i.src[k];
  Source<T, N> s{row_source<N>(w, o, 0, scratch.lo), nullptr};
  if constexpr (T::bits == 64) s.hi = row_source<N>(w, o, 1, scratch.hi);
  if (!plain || (T::bits == 16 && o.high)) [[unlikely]] {
    if (modify_source<N>(w, i, k, info<T>(), s.lo, s.hi, scratch.lo, scratch.hi))
      s = {scratch.lo.data(), scratch.hi.data()};
  }
  return s;
}

// Special properties of an operation's result.
struct Options {
  // A 16-bit result keeps the other half of the register on gfx9 too, where most operations clear it (LLVM's
  // zeroesHigh16BitsOfDest lists those). From gfx11 on all keep it.
  bool keep_half = false;
  bool own_nan = false;  // a NaN result is as the lambda returns it
  bool keeps_denormal =
      false;  // a denormal result is kept, whatever the mode is (min and max: the mode only flushes their sources)
  enum class Pair : std::uint8_t { none, f16, bf16 } pair = Pair::none;  // two floats in a result of b32
};

template <class T, unsigned N>
inline void write(Wave& w, const Instruction& i, std::uint64_t lanes, std::uint32_t* lo,
                  const std::uint32_t* hi = nullptr, bool keep_half = false) {
  std::uint32_t* to = w.row(i.dst);
  if constexpr (T::bits == 16) {
    const bool keep = keep_half || is_rdna(w.arch);
    if (keep || (i.op_sel & 8) != 0 || i.lane_map == LaneMap::sdwa) place_part<N>(w, i, 16, keep, lo);
  } else if (i.lane_map == LaneMap::sdwa) [[unlikely]] {
    place_part<N>(w, i, 32, false, lo);
  }
  write_row<N>(to, lo, lanes);
  if constexpr (T::bits == 64) write_row<N>(to + N, hi, lanes);
}

// For lanes whose result is a NaN: the first source that is a NaN, quieted; else the default
// NaN.
template <class R, class... A, unsigned N>
[[gnu::noinline]] void settle_nans(const std::tuple<Source<A, N>...>& sources, std::uint32_t* lo, std::uint32_t* hi) {
  constexpr FloatFormat to = R::format;
  for (unsigned l = 0; l < N; ++l) {
    std::uint64_t bits = lo[l];
    if constexpr (R::bits == 64) bits |= std::uint64_t{hi[l]} << 32;
    if (!to.is_nan(bits)) continue;
    bits = to.default_nan();
    bool found = false;
    const auto look = [&]<class T>(const Source<T, N>& s) {
      if constexpr (T::is_float) {
        const std::uint64_t v = s.bits(l);
        if (found || !T::format.is_nan(v)) return;
        found = true;
        const std::uint64_t sign = (v & T::format.sign()) != 0 ? to.sign() : 0;
        const std::uint64_t payload =
            (v & T::format.mantissa_mask()) << (63 - T::format.mantissa) >> (63 - to.mantissa);
        bits = sign | to.infinity() | to.quiet() | payload;
      }
    };
    std::apply([&](const auto&... s) { (look(s), ...); }, sources);
    lo[l] = static_cast<std::uint32_t>(bits);
    if constexpr (R::bits == 64) hi[l] = static_cast<std::uint32_t>(bits >> 32);
  }
}

}  // namespace rapt::sim::valu
