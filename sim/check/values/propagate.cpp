#include "sim/check/values/propagate.hpp"

#include "sim/check/values/bit_rules.hpp"
#include "sim/isa/facts/halves.hpp"
#include "sim/machine/scalar/operands.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

using Words = std::vector<std::uint32_t>;

std::string plain_name(const Instruction& i) {
  std::string name(i.opcode->name);
  if (name.starts_with("v_dual_")) name.erase(2, 5);
  return name;
}

bool only_moves(std::string_view name) {
  static constexpr std::string_view stems[] = {
      "v_mov_",       "v_accvgpr_",   "v_readlane", "v_readfirstlane", "v_writelane", "v_permlane", "v_swap",
      "v_cndmask",    "v_perm_b32",   "v_align",    "v_lshlrev",       "v_lshrrev",   "v_ashrrev",  "v_pk_lshlrev",
      "v_pk_lshrrev", "v_pk_ashrrev", "v_bfe",      "v_bfrev",         "v_lshl_or",   "v_pack_b32", "v_pk_mov",
      "ds_bpermute",  "ds_permute",   "ds_swizzle", "s_mov_",          "s_lshl_b",    "s_lshr_b",   "s_ashr_",
      "s_bfe",        "s_pack",       "s_brev",     "s_sext",          "v_movrel"};
  return std::any_of(std::begin(stems), std::end(stems), [name](std::string_view s) { return name.starts_with(s); });
}

bool is_packed16(Type t) { return t == Type::pk_i16 || t == Type::pk_u16 || t == Type::pk_f16 || t == Type::pk_bf16; }
bool is_float_matrix(const Instruction& i) {
  const auto flows = [](Type t) { return t != Type::none; };
  return flows(i.opcode->src[0]) && i.opcode->name.find("i8") == std::string_view::npos &&
         i.opcode->name.find("i4") == std::string_view::npos && i.opcode->name.find("iu") == std::string_view::npos &&
         i.opcode->name.find("fp8") == std::string_view::npos && i.opcode->name.find("bf8") == std::string_view::npos &&
         i.opcode->name.find("f8f6f4") == std::string_view::npos;
}

// A value operand's bits in a lane; the words are those after DPP and SDWA.
std::uint32_t value_of(const Wave& wave, const Operand& o, unsigned lane) {
  if (o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr) return const_cast<Wave&>(wave).row(o)[lane];
  return read_scalar32(wave, o);
}

class Propagation {
 public:
  Propagation(ShadowRunner& runner, const Wave& wave, const Instruction& i, const Effects& e, const Shadow& shadow)
      : runner_(runner), wave_(wave), i_(i), e_(e), shadow_(shadow), name_(plain_name(i)) {}

  std::vector<Undefined> run() {
    if (only_moves(name_))
      if (auto moved = runner_.move(wave_, i_, e_, shadow_)) return *moved;
    if (e_.unit == Unit::matrix && is_float_matrix(i_)) return product();
    if (is_scalar()) return scalar();
    if (i_.lane_map == LaneMap::none)
      if (const BitRule rule = bit_rule(name_)) return by_lane([&](unsigned lane) { return ruled(rule, lane); });
    if (i_.lane_map == LaneMap::none && is_wide_sum()) return wide_sum();
    if (name_ == "v_pk_fma_f32" || name_ == "v_pk_mul_f32" || name_ == "v_pk_add_f32") return packed_floats();
    if ((i_.opcode->format == Format::vop3p || name_ == "v_pk_fmac_f16") && is_packed16(i_.opcode->dst))
      return by_lane([&](unsigned lane) { return packed(lane); });
    return by_lane([&](unsigned lane) { return any_undefined(lane) ? ~0U : 0U; });
  }

 private:
  bool is_scalar() const { return i_.opcode->name.starts_with("s_"); }

  std::vector<Undefined> product() {
    const std::string_view name = i_.opcode->name;
    const unsigned elements = name.find("f64") != name.npos ? 64
                              : name.find("x1f32") != name.npos || name.find("x2f32") != name.npos ||
                                      name.find("x4f32") != name.npos || name.find("xf32") != name.npos ||
                                      name.ends_with("_f32")
                                  ? 32
                                  : 16;
    const unsigned result = name.find("mma_f16") != name.npos || name.find("mma_bf16") != name.npos ? 16
                            : elements == 64                                                        ? 64
                                                                                                    : 32;
    return runner_.multiply(wave_, i_, e_, shadow_, elements, result);
  }

  std::vector<Undefined> scalar() {
    const BitRule rule = bit_rule(name_);
    bool any = false;
    for (const RegisterAccess& a : e_.reads()) any |= shadow_.touches(a);
    std::vector<Undefined> results;
    for (const RegisterAccess& a : e_.writes()) {
      if (a.file != RegisterFile::sgpr) continue;
      Undefined result{a.file, a.first, {}};
      for (unsigned n = 0; n < a.count; ++n)
        result.rows.push_back({rule ? rule(scalar_bits(0, n), scalar_bits(1, n), {}).undefined : any ? ~0U : 0U});
      results.push_back(std::move(result));
    }
    return results;
  }

  Bits scalar_bits(unsigned n, unsigned dword) const {
    const Operand& o = i_.src[n];
    const auto value = static_cast<std::uint32_t>(read_scalar64(wave_, o) >> 32 * dword);
    const bool held = o.kind == OperandKind::sgpr && o.index != sreg::null && o.index + dword < sreg::count;
    return {value, held ? shadow_.scalar(o.index + dword) : 0};
  }

  bool is_wide_sum() const {
    return name_ == "v_mad_u64_u32" || name_ == "v_mad_i64_i32" || name_ == "v_mad_co_u64_u32" ||
           name_ == "v_mad_co_i64_i32" || name_ == "v_lshl_add_u64";
  }

  // A 64-bit sum: no bit of its low word comes from a high word, for which compilers pass any register.
  std::vector<Undefined> wide_sum() {
    std::vector<Undefined> results = by_lane([&](unsigned lane) { return any_undefined(lane) ? ~0U : 0U; });
    for (Undefined& result : results) {
      if (result.file == RegisterFile::sgpr) continue;
      for (unsigned lane = 0; lane < shadow_.lanes(); ++lane)
        if (result.rows[1][lane] != 0 && (wave_.exec() >> lane & 1) != 0) result.rows[0][lane] = low_word(lane);
    }
    return results;
  }

  std::uint32_t low_word(unsigned lane) {
    const Bits a = lane_bits(0, lane), b = lane_bits(1, lane), c = lane_bits(2, lane);
    if (name_ != "v_lshl_add_u64") return spread(spread(a, b), c).undefined;
    if ((b.undefined & 7) != 0) return ~0U;
    return spread({0, a.undefined << (b.value & 7)}, c).undefined;
  }

  // Each float of the result depends on the words of the sources that op_sel and op_sel_hi select.
  std::vector<Undefined> packed_floats() {
    std::vector<Undefined> results = by_lane([](unsigned) { return 0U; });
    for (Undefined& result : results)
      for (unsigned word = 0; word < 2; ++word)
        for (unsigned lane = 0; lane < shadow_.lanes(); ++lane) {
          if ((wave_.exec() >> lane & 1) == 0) continue;
          std::uint32_t any = 0;
          for (unsigned n = 0; n < 3; ++n)
            if (i_.opcode->src[n] != Type::none)
              any |= word_of(n, ((word != 0 ? i_.op_sel_hi : i_.op_sel) >> n & 1) != 0, lane);
          result.rows[word][lane] = any != 0 ? ~0U : 0U;
        }
    return results;
  }

  // Undefined bits of the low or high word of a 64-bit source.
  std::uint32_t word_of(unsigned n, bool high, unsigned lane) {
    const Operand& o = i_.src[n];
    if (!high) return source(n)[lane];
    if (o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr) return shadow_.bits(row_of_operand(o) + 1, lane);
    return scalar_bits(n, 1).undefined;
  }

  Words& source(unsigned n) {
    if (sources_[n].empty()) sources_[n] = runner_.source(wave_, i_, n, shadow_);
    return sources_[n];
  }

  Bits lane_bits(unsigned n, unsigned lane) { return {value_of(wave_, i_.src[n], lane), source(n)[lane]}; }

  std::uint32_t ruled(BitRule rule, unsigned lane) {
    const unsigned last = (i_.opcode->traits & trait::reads_dst) != 0 ? 2U : 3U;
    Bits operands[3] = {};
    for (unsigned n = 0; n < last; ++n)
      if (i_.src[n].kind != OperandKind::none) operands[n] = lane_bits(n, lane);
    return rule(operands[0], operands[1], operands[2]).undefined;
  }

  std::uint32_t packed(unsigned lane) {
    std::uint32_t low = 0, high = 0;
    for (unsigned n = 0; n < 3; ++n) {
      if (i_.opcode->src[n] == Type::none) continue;
      const std::uint32_t bits = source(n)[lane];
      low |= (i_.op_sel >> n & 1) != 0 ? bits >> 16 : bits & 0xffff;
      high |= (i_.op_sel_hi >> n & 1) != 0 ? bits >> 16 : bits & 0xffff;
    }
    return (low != 0 ? 0xffffU : 0) | (high != 0 ? 0xffff0000U : 0);
  }

  // Only the part of a source that type, op_sel and name select counts: one half, one byte, or all of its registers.
  std::uint32_t counted(unsigned n, unsigned lane) {
    const std::uint32_t bits = source(n)[lane];
    const Operand& o = i_.src[n];
    if (i_.lane_map == LaneMap::sdwa && n < 2)  // selected already
      return is_half(i_.opcode->src[n]) ? bits & 0xffff : bits;
    if (name_.starts_with("v_cvt_f32_ubyte")) return bits >> 8 * static_cast<unsigned>(name_.back() - '0') & 0xff;
    if (name_.find("_i24") != name_.npos || name_.find("_u24") != name_.npos) return n < 2 ? bits & 0xffffff : bits;
    if (o.dwords > 1 && (o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr)) {
      std::uint32_t all = bits;
      for (unsigned d = 1; d < o.dwords; ++d) all |= shadow_.bits(row_of_operand(o) + d, lane);
      return all;
    }
    return bits & read_bits(i_, n);
  }

  static unsigned row_of_operand(const Operand& o) {
    return o.index + (o.kind == OperandKind::agpr ? Wave::agpr_row : 0);
  }

  bool any_undefined(unsigned lane) {
    for (const RegisterAccess& a : e_.reads()) {
      if (a.file == RegisterFile::scc) {
        if (shadow_.scc()) return true;
      } else if (a.source == Effects::implied || i_.opcode->src[a.source] == Type::mask) {
        if (a.file == RegisterFile::sgpr) {  // a lane mask
          const unsigned word = a.count > 1 ? lane / 32 : 0;
          if (shadow_.scalar(a.first + word) >> lane % 32 & 1) return true;
        } else {
          for (unsigned d = 0; d < a.count && !is_third_source(a); ++d)
            if (shadow_.bits(row_of(a.file, a.first + d), lane) != 0) return true;
        }
      } else if (counted(a.source, lane) != 0) {
        return true;
      }
    }
    return false;
  }

  // The destination of an operation that adds to it: counted as a source there.
  bool is_third_source(const RegisterAccess& a) const {
    const Operand& o = i_.src[2];
    return (o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr) && row_of_operand(o) == row_of(a.file, a.first);
  }

  template <typename F>
  std::vector<Undefined> by_lane(F undefined_of) {
    std::vector<Undefined> results;
    const std::uint64_t exec = wave_.exec();
    Words lanes(shadow_.lanes(), 0);
    for (unsigned lane = 0; lane < shadow_.lanes(); ++lane)
      if ((exec >> lane & 1) != 0 || !e_.per_lane) lanes[lane] = undefined_of(lane);
    for (const RegisterAccess& a : e_.writes()) {
      if (a.file == RegisterFile::scc) continue;
      if (a.file == RegisterFile::sgpr) {
        results.push_back(mask_result(a, lanes));
        continue;
      }
      Undefined result{a.file, row_of(a.file, a.first), {}};
      for (unsigned n = 0; n < a.count; ++n) result.rows.push_back(placed(result.first + n, lanes, exec));
      results.push_back(std::move(result));
    }
    return results;
  }

  // A lane mask gets one bit from each lane.
  static Undefined mask_result(const RegisterAccess& a, const Words& lanes) {
    Undefined result{a.file, a.first, {}};
    for (unsigned n = 0; n < a.count; ++n) {
      std::uint32_t word = 0;
      for (unsigned bit = 0; bit < 32 && n * 32 + bit < lanes.size(); ++bit)
        word |= (lanes[n * 32 + bit] != 0 ? 1U : 0U) << bit;
      result.rows.push_back({word});
    }
    return result;
  }

  // The row afterwards: inactive lanes and bits outside the result are unchanged.
  Words placed(unsigned row, const Words& lanes, std::uint64_t exec) const {
    Words words(lanes.size());
    const WrittenBits written = written_bits(i_, wave_.arch);
    for (unsigned lane = 0; lane < words.size(); ++lane) {
      const std::uint32_t old = shadow_.bits(row, lane);
      if ((exec >> lane & 1) == 0 && e_.per_lane) words[lane] = old;
      else words[lane] = (old & written.kept()) | (lanes[lane] & written.result);
    }
    return words;
  }

  ShadowRunner& runner_;
  const Wave& wave_;
  const Instruction& i_;
  const Effects& e_;
  const Shadow& shadow_;
  std::string name_;
  std::array<Words, 5> sources_;
};

}  // namespace

std::vector<Undefined> propagate(ShadowRunner& runner, const Wave& wave, const Instruction& i, const Effects& e,
                                 const Shadow& shadow) {
  return Propagation(runner, wave, i, e, shadow).run();
}

}  // namespace rapt::sim
