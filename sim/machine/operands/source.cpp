// Sources other than a plain register or constant: DPP, SDWA, register halves, sign modifiers, flushed denormals.
#include "sim/machine/operands/valu.hpp"
#include "sim/machine/scalar/operands.hpp"

#include <algorithm>
#include <cfenv>
#include <optional>

namespace rapt::sim::valu {

std::uint64_t scalar_source(const Wave& w, const Operand& o) { return read_scalar64(w, o); }

namespace {

// DPP16's control codes (CDNA3 ISA 13.3.9, RDNA3 ISA 7.7.1).
namespace dpp {
constexpr unsigned row_shl = 0x100, row_shr = 0x110, row_ror = 0x120, wave_shl = 0x130, wave_rol = 0x134;
constexpr unsigned wave_shr = 0x138, wave_ror = 0x13c, row_mirror = 0x140, row_half_mirror = 0x141;
constexpr unsigned row_bcast15 = 0x142, row_bcast31 = 0x143, row_share = 0x150, row_xmask = 0x160;
}  // namespace dpp

Fault reserved_control(unsigned control) {
  return {FaultKind::illegal_instruction, "DPP control " + std::to_string(control) + " is reserved"};
}

// The lane that lane l reads; none if there is no such lane.
std::optional<unsigned> dpp16_lane(unsigned control, unsigned l, unsigned lanes) {
  const unsigned row = l & ~15U, in_row = l & 15, amount = control & 15;
  const auto within_row = [&](unsigned from) { return from < 16 ? std::optional(row + from) : std::nullopt; };
  if (control < 0x100) return (l & ~3U) + (control >> 2 * (l & 3) & 3);
  switch (control) {
    case dpp::wave_shl: return l + 1 < lanes ? std::optional(l + 1) : std::nullopt;
    case dpp::wave_rol: return (l + 1) % lanes;
    case dpp::wave_shr: return l > 0 ? std::optional(l - 1) : std::nullopt;
    case dpp::wave_ror: return (l + lanes - 1) % lanes;
    case dpp::row_mirror: return row + 15 - in_row;
    case dpp::row_half_mirror: return (l & ~7U) + 7 - (l & 7);
    case dpp::row_bcast15: return row > 0 ? std::optional(row - 1) : std::nullopt;
    case dpp::row_bcast31: return l > 31 ? std::optional((l & ~31U) - 1) : std::nullopt;
    default: break;
  }
  switch (control & ~15U) {
    case dpp::row_shl: return within_row(in_row + amount);
    case dpp::row_shr: return within_row(in_row - amount);
    case dpp::row_ror: return row + ((in_row - amount) & 15);
    case dpp::row_share: return row + amount;
    case dpp::row_xmask: return row + (in_row ^ amount);
    default: return std::nullopt;
  }
}

// For each control and lane, the lane it reads, or itself if there is none; and a mask of the lanes that have one.
template <unsigned N>
struct LaneMaps {
  struct Map {
    std::array<std::uint8_t, N> from{};
    std::uint64_t valid = 0;
  };
  std::array<Map, 0x170> of_control;
  LaneMaps() {
    for (unsigned control = 0; control < of_control.size(); ++control)
      for (unsigned l = 0; l < N; ++l) {
        const auto lane = dpp16_lane(control, l, N);
        of_control[control].from[l] = static_cast<std::uint8_t>(lane.value_or(l));
        if (lane) of_control[control].valid |= std::uint64_t{1} << l;
      }
  }
};

// What DPP reads: an inactive source lane counts as none unless fetch_inactive is set (RDNA3 ISA, table 31). The
// table's row for BC = 0, FI = 1 contradicts the fields' description, which is followed here.
template <unsigned N>
typename LaneMaps<N>::Map source_lanes(const Wave& w, const Instruction& i) {
  typename LaneMaps<N>::Map map;
  if (i.lane_map == LaneMap::dpp8) {
    for (unsigned l = 0; l < N; ++l) map.from[l] = static_cast<std::uint8_t>((l & ~7U) + (i.dpp8 >> 3 * (l & 7) & 7));
    map.valid = full_mask<N>;
  } else {
    static const LaneMaps<N> maps;
    if (i.dpp_ctrl >= maps.of_control.size()) throw reserved_control(i.dpp_ctrl);
    map = maps.of_control[i.dpp_ctrl];
    if (map.valid == 0) throw reserved_control(i.dpp_ctrl);
  }
  const std::uint64_t exec = w.exec();
  if (i.fetch_inactive || exec == full_mask<N>) return map;
  std::uint64_t active = 0;
  for (unsigned l = 0; l < N; ++l) active |= (exec >> map.from[l] & 1) << l;
  map.valid &= active;
  return map;
}

template <unsigned N>
void permute(const typename LaneMaps<N>::Map& map, const std::uint32_t* row, Row<N>& to) {
  Row<N> moved, valid;
  for (unsigned l = 0; l < N; ++l) moved[l] = row[map.from[l]];
  valid.fill(0);
  write_row<N>(valid.data(), moved.data(), map.valid);
  to = valid;
}

// A byte or word of each lane, zero- or sign-extended.
template <unsigned N>
void select(SdwaSelect part, bool sign_extend, Row<N>& row) {
  if (part == SdwaSelect::dword) return;
  const bool byte = part <= SdwaSelect::byte3;
  const unsigned shift = byte ? 8 * static_cast<unsigned>(part) : part == SdwaSelect::word1 ? 16 : 0;
  for (std::uint32_t& v : row) {
    const std::uint32_t bits = v >> shift;
    if (byte) v = sign_extend ? static_cast<std::uint32_t>(static_cast<std::int8_t>(bits)) : bits & 0xff;
    else v = sign_extend ? static_cast<std::uint32_t>(static_cast<std::int16_t>(bits)) : bits & 0xffff;
  }
}

template <unsigned N>
void flush_denormals(FloatFormat format, Row<N>& lo, Row<N>& hi) {
  for (unsigned l = 0; l < N; ++l) {
    const std::uint64_t bits = lo[l] | (format.bits == 64 ? std::uint64_t{hi[l]} << 32 : 0);
    if (!format.is_denormal(bits)) continue;
    lo[l] &= format.bits == 64 ? 0 : static_cast<std::uint32_t>(format.sign());
    if (format.bits == 64) hi[l] &= 0x80000000;
  }
}

}  // namespace

template <unsigned N>
bool modify_source(const Wave& w, const Instruction& i, unsigned k, TypeInfo type, const std::uint32_t* lo,
                   const std::uint32_t* hi, Row<N>& new_lo, Row<N>& new_hi) {
  const bool wide = type.bits == 64;
  const bool moved = k == 0 && (i.lane_map == LaneMap::dpp16 || i.lane_map == LaneMap::dpp8);
  const bool part = i.lane_map == LaneMap::sdwa && k < 2;
  const bool high = type.bits == 16 && (i.src[k].high || (i.op_sel >> k & 1) != 0);
  const bool flush = type.is_float && !keeps_denormals(w, type, Direction::input);
  const bool abs = (i.abs >> k & 1) != 0, neg = (i.neg >> k & 1) != 0;
  if (!(moved || part || high || flush || abs || neg)) return false;
  const bool vector = i.src[k].kind == OperandKind::vgpr || i.src[k].kind == OperandKind::agpr;
  if (moved) {
    const auto from = source_lanes<N>(w, i);
    permute<N>(from, lo, new_lo);
    if (wide) permute<N>(from, hi, new_hi);
  } else if (vector) {
    std::copy_n(lo, N, new_lo.begin());
    if (wide) std::copy_n(hi, N, new_hi.begin());
  }
  if (part) select<N>(i.src_sel[k], (i.sext >> k & 1) != 0, new_lo);
  if (high)
    for (std::uint32_t& v : new_lo) v >>= 16;

  Row<N>& top = wide ? new_hi : new_lo;
  const std::uint32_t sign = type.bits == 16 ? 0x8000U : 0x80000000U;
  if (abs)
    for (std::uint32_t& v : top) v &= ~sign;
  if (neg)
    for (std::uint32_t& v : top) v ^= sign;
  if (flush) flush_denormals<N>(type.format(), new_lo, new_hi);
  return true;
}

// Repeats each bit of the mask `width` times.
template <unsigned width>
static std::uint64_t spread(unsigned mask, unsigned bits) {
  std::uint64_t result = 0;
  for (unsigned k = 0; k < bits; ++k)
    if ((mask >> k & 1) != 0) result |= ((std::uint64_t{1} << width) - 1) << width * k;
  return result;
}

template <unsigned N>
std::uint64_t enabled_lanes(const Wave& w, const Instruction& i) {
  const std::uint64_t exec = w.exec();
  if (i.lane_map != LaneMap::dpp16) return exec;
  const std::uint64_t rows = spread<16>(i.row_mask, 4), banks = spread<4>(i.bank_mask, 4) * 0x0001000100010001;
  const std::uint64_t sources = i.bound_ctrl ? full_mask<N> : source_lanes<N>(w, i).valid;
  return exec & rows & banks & sources;
}

// CDNA3 ISA 6.6. The accumulator that v_mac and v_fmac read is the destination and moves with it.
bool run_indexed(Wave& w, const Instruction& i, Handler handler) {
  if (!is_cdna(w.arch) || (w.mode & mode::gpr_idx_en) == 0) return false;
  const std::uint32_t m0 = w.sgpr[sreg::m0];
  const auto move = [&](Operand& o, unsigned enable_bit) {
    if (o.kind != OperandKind::vgpr || (m0 >> enable_bit & 1) == 0) return;
    if (o.index + (m0 & 0xff) + std::max<unsigned>(o.dwords, 1) > w.vgpr_count)
      throw Fault(FaultKind::illegal_instruction, "v" + std::to_string(o.index) + " moved by the index " +
                                                      std::to_string(m0 & 0xff) + " is outside the wave's registers");
    o.index = static_cast<std::uint16_t>(o.index + (m0 & 0xff));
  };
  Instruction moved = i;
  const bool accumulates = i.opcode->format == Format::vop2 && i.src[2].kind == OperandKind::vgpr &&
                           i.src[2].index == i.dst.index && !i.src[1].literal;  // not v_madmk
  move(moved.src[0], 12);
  move(moved.src[1], 13);
  move(moved.src[2], accumulates ? 15 : 14);
  move(moved.dst, 15);
  w.mode &= ~mode::gpr_idx_en;
  handler(w, moved);
  w.mode |= mode::gpr_idx_en;
  return true;
}

void HostRounding::set(Round mode) {
  static constexpr std::array<int, 4> host{FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::fesetround(host[static_cast<unsigned>(mode)]);
}

#define RAPT_SIM_LANES(N)                                                                                   \
  template bool modify_source<N>(const Wave&, const Instruction&, unsigned, TypeInfo, const std::uint32_t*, \
                                 const std::uint32_t*, Row<N>&, Row<N>&);                                   \
  template std::uint64_t enabled_lanes<N>(const Wave&, const Instruction&);
RAPT_SIM_LANES(32)
RAPT_SIM_LANES(64)
#undef RAPT_SIM_LANES

}  // namespace rapt::sim::valu
