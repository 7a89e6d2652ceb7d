// Results that need more than a plain write: output modifiers, flushed denormals, and parts of a register.
#include "sim/machine/operands/valu.hpp"

namespace rapt::sim::valu {
namespace {

// omod as a multiplier. ISA documents, "Output modifiers": ignored if output denormals are kept or MODE.IEEE is set,
// but never on gfx12; -0 becomes +0.
double multiplier(const Wave& w, const Instruction& i, TypeInfo type) {
  const bool ieee = (w.mode & mode::ieee) != 0;
  const bool counts = contains(gfx12, w.arch) || !(ieee || keeps_denormals(w, type, Direction::output));
  if (i.omod == 0 || !counts) return 1;
  return i.omod == 1 ? 2 : i.omod == 2 ? 4 : 0.5;
}

template <class T>
auto load(const std::uint32_t* lo, const std::uint32_t* hi, unsigned l) {
  if constexpr (T::bits == 64) return lo[l] | std::uint64_t{hi[l]} << 32;
  else return lo[l];
}

template <class T, unsigned N>
void modify(const Wave& w, const Instruction& i, bool keep_denormal, std::uint32_t* lo, std::uint32_t* hi) {
  constexpr FloatFormat format = T::format;
  using Value = typename T::Value;
  const auto factor = static_cast<Value>(multiplier(w, i, info<T>()));
  const bool flush = factor != 1 || (!keep_denormal && !keeps_denormals(w, info<T>(), Direction::output));
  if (!flush && factor == 1 && !i.clamp) return;
  const bool nan_to_zero = contains(gfx12, w.arch) || (w.mode & mode::dx10_clamp) != 0;
  const Rounding as_mode = rounding<T>(w);
  const HostRounding host(as_mode.mode);
  for (unsigned l = 0; l < N; ++l) {
    auto bits = load<T>(lo, hi, l);
    const auto flush_bits = [&] {
      if (flush && format.is_denormal(bits)) bits &= static_cast<decltype(bits)>(format.sign());
    };
    flush_bits();
    if (factor != 1 && !format.is_nan(bits)) {
      if ((bits & ~format.sign()) == 0) bits = 0;
      bits = T::encode(T::decode(bits) * factor, as_mode);
      flush_bits();
    }
    if (i.clamp) {
      if (format.is_nan(bits)) bits = nan_to_zero ? 0 : bits;
      else if ((bits & format.sign()) != 0) bits = 0;
      else if (T::decode(bits) > Value{1}) bits = T::encode(Value{1}, as_mode);
    }
    lo[l] = static_cast<std::uint32_t>(bits);
    if constexpr (T::bits == 64) hi[l] = static_cast<std::uint32_t>(bits >> 32);
  }
}

// `part` of the register's old value replaced by the result's low bits.
std::uint32_t insert(std::uint32_t old, std::uint32_t value, SdwaSelect part, SdwaUnused unused) {
  if (part == SdwaSelect::dword) return value;
  const bool byte = part <= SdwaSelect::byte3;
  const unsigned width = byte ? 8 : 16;
  const unsigned shift = byte ? 8 * static_cast<unsigned>(part) : part == SdwaSelect::word1 ? 16 : 0;
  const std::uint64_t field = (std::uint64_t{1} << width) - 1, above = ~std::uint64_t{0} << (shift + width);
  const std::uint64_t placed = (value & field) << shift;
  if (unused == SdwaUnused::preserve) return static_cast<std::uint32_t>((old & ~(field << shift)) | placed);
  const bool negative = unused == SdwaUnused::sext && (value >> (width - 1) & 1) != 0;
  return static_cast<std::uint32_t>(negative ? placed | above : placed);
}

}  // namespace

template <unsigned N>
void modify_result(const Wave& w, const Instruction& i, TypeInfo type, bool keep_denormal, std::uint32_t* lo,
                   std::uint32_t* hi) {
  switch (type.bits) {
    case 64: return modify<f64, N>(w, i, keep_denormal, lo, hi);
    case 32: return modify<f32, N>(w, i, keep_denormal, lo, hi);
    default:
      return type.mantissa == format_f16.mantissa ? modify<f16, N>(w, i, keep_denormal, lo, hi)
                                                  : modify<bf16, N>(w, i, keep_denormal, lo, hi);
  }
}

template <unsigned N>
void clamp_pair(const Wave& w, const Instruction& i, TypeInfo type, std::uint32_t* pairs) {
  Instruction only_clamp = i;
  only_clamp.omod = 0;
  std::uint32_t low[N], high[N];
  for (unsigned l = 0; l < N; ++l) low[l] = pairs[l] & 0xffff, high[l] = pairs[l] >> 16;
  modify_result<N>(w, only_clamp, type, true, low, nullptr);
  modify_result<N>(w, only_clamp, type, true, high, nullptr);
  for (unsigned l = 0; l < N; ++l) pairs[l] = low[l] | high[l] << 16;
}

template <unsigned N>
void place_part(Wave& w, const Instruction& i, unsigned bits, bool keep, std::uint32_t* lo) {
  const std::uint32_t* old = w.row(i.dst);
  if (i.lane_map == LaneMap::sdwa && !(i.dst_sel == SdwaSelect::dword && bits == 16 && keep)) {
    for (unsigned l = 0; l < N; ++l) lo[l] = insert(old[l], lo[l], i.dst_sel, i.dst_unused);
    return;
  }
  if (bits != 16) return;
  const bool high = i.dst.high || (i.op_sel & 8) != 0;
  for (unsigned l = 0; l < N; ++l)
    lo[l] = high ? (old[l] & 0xffff) | lo[l] << 16 : (old[l] & 0xffff0000) | (lo[l] & 0xffff);
}

#define RAPT_SIM_LANES(N)                                                                                          \
  template void modify_result<N>(const Wave&, const Instruction&, TypeInfo, bool, std::uint32_t*, std::uint32_t*); \
  template void clamp_pair<N>(const Wave&, const Instruction&, TypeInfo, std::uint32_t*);                          \
  template void place_part<N>(Wave&, const Instruction&, unsigned, bool, std::uint32_t*);
RAPT_SIM_LANES(32)
RAPT_SIM_LANES(64)
#undef RAPT_SIM_LANES

}  // namespace rapt::sim::valu
