#include "sim/check/values/shadow_run.hpp"

#include "sim/isa/facts/halves.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

// Sets whole elements of the given size if any of their bits is set.
std::uint32_t widened(std::uint32_t bits, unsigned element_bits) {
  if (element_bits == 16) return ((bits & 0xffff) != 0 ? 0xffffU : 0) | ((bits >> 16) != 0 ? 0xffff0000U : 0);
  return element_bits >= 32 && bits != 0 ? ~0U : bits;
}

bool is_nan16(std::uint32_t half) { return (half & 0x7fff) > 0x7c00; }  // an f16, or a bf16 of all ones

Handler handler_of(const Wave& wave, std::string_view name) { return handlers().find(name, wave.arch, wave.lanes); }

}  // namespace

ShadowRunner::ShadowRunner(unsigned lanes) : lanes_(lanes), registers_(std::size_t{Shadow::rows} * lanes) {
  wave_.vgpr = registers_.data();
  wave_.lanes = lanes;
  wave_.vgpr_count = wave_.agpr_count = 256;
}

void ShadowRunner::load_row(const Wave& wave, const RegisterAccess& access, const Shadow& shadow, unsigned spread) {
  for (unsigned n = 0; n < access.count; ++n) {
    const unsigned row = row_of(access.file, access.first + n);
    std::uint32_t* to = wave_.row(row);
    if (access.use == Use::control) {
      std::copy_n(const_cast<Wave&>(wave).row(row), lanes_, to);
    } else {
      for (unsigned lane = 0; lane < lanes_; ++lane) to[lane] = widened(shadow.bits(row, lane), spread);
    }
  }
}

void ShadowRunner::prepare(const Wave& wave, const Effects& e, const Shadow& shadow, unsigned spread) {
  std::copy_n(wave.sgpr, sreg::count, wave_.sgpr);
  wave_.scc = wave.scc;
  wave_.arch = wave.arch;
  wave_.mode = mode::denorm_f32 | mode::denorm_f16_f64 | (wave.mode & mode::gpr_idx_en);
  wave_.group = wave.group;
  wave_.index = wave.index;
  // Bits of the destination that an instruction does not write keep their shadow.
  for (const RegisterAccess& access : e.writes()) {
    if (access.file == RegisterFile::vgpr || access.file == RegisterFile::agpr) load_row(wave, access, shadow, spread);
    else if (access.file == RegisterFile::sgpr && access.first != sreg::exec)
      for (unsigned n = 0; n < access.count; ++n) wave_.sgpr[access.first + n] = shadow.scalar(access.first + n);
  }
  for (const RegisterAccess& access : e.reads()) {
    if (access.file == RegisterFile::vgpr || access.file == RegisterFile::agpr) load_row(wave, access, shadow, spread);
    else if (access.file == RegisterFile::sgpr)
      for (unsigned n = 0; n < access.count; ++n)
        wave_.sgpr[access.first + n] =
            access.use == Use::control ? wave.sgpr[access.first + n] : widened(shadow.scalar(access.first + n), spread);
  }
  std::copy_n(wave.sgpr + sreg::exec, 2, wave_.sgpr + sreg::exec);
}

Instruction ShadowRunner::without_constants(const Instruction& i, const Effects& e) {
  Instruction copy = i;
  copy.dual = nullptr;
  copy.neg = copy.neg_hi = copy.abs = copy.omod = 0;
  copy.clamp = false;
  for (unsigned n = 0; n < copy.src.size(); ++n) {
    const bool control = std::any_of(e.reads().begin(), e.reads().end(),
                                     [n](const RegisterAccess& a) { return a.source == n && a.use == Use::control; }) ||
                         i.opcode->src[n] == Type::mask;
    Operand& o = copy.src[n];
    if (!control && (o.kind == OperandKind::constant || o.kind == OperandKind::special)) {
      o.kind = OperandKind::constant;
      o.value = 0;
    }
  }
  return copy;
}

std::vector<Undefined> ShadowRunner::collect(const Effects& e) const {
  std::vector<Undefined> results;
  for (const RegisterAccess& access : e.writes()) {
    if (access.file == RegisterFile::scc) continue;
    Undefined result{access.file, access.first, {}};
    for (unsigned n = 0; n < access.count; ++n) {
      if (access.file == RegisterFile::sgpr) {
        result.rows.push_back({wave_.sgpr[access.first + n]});
      } else {
        const unsigned row = row_of(access.file, access.first + n);
        const std::uint32_t* from = registers_.data() + std::size_t{row} * lanes_;
        result.rows.emplace_back(from, from + lanes_);
      }
    }
    if (access.file != RegisterFile::sgpr) result.first = row_of(access.file, access.first);
    results.push_back(std::move(result));
  }
  return results;
}

std::optional<std::vector<Undefined>> ShadowRunner::move(const Wave& wave, const Instruction& i, const Effects& e,
                                                         const Shadow& shadow) {
  std::string name(i.opcode->name);
  if (name.starts_with("v_dual_")) name.erase(2, 5);
  const Handler handler = handler_of(wave, name);
  if (!handler) return {};
  for (const RegisterAccess& a : e.reads())
    for (const RegisterAccess& b : e.reads())
      if ((a.use == Use::control) != (b.use == Use::control) && a.file == b.file && a.first < b.first + b.count &&
          b.first < a.first + a.count)
        return {};
  prepare(wave, e, shadow, 1);
  Instruction copy = without_constants(i, e);
  // Shift counts and selectors that are constants keep them: they have the same effect as registers used as control.
  for (unsigned n = 0; n < copy.src.size(); ++n)
    if (i.src[n].kind == OperandKind::constant && is_control_operand(i, n)) copy.src[n] = i.src[n];
  handler(wave_, copy);
  auto results = collect(e);
  for (const RegisterAccess& a : e.reads())
    if (a.use == Use::control && shadow.touches(a)) spoil(wave, i, a, shadow, results);
  return results;
}

// If a control is undefined, so is the whole result.
void ShadowRunner::spoil(const Wave& wave, const Instruction& i, const RegisterAccess& control, const Shadow& shadow,
                         std::vector<Undefined>& results) const {
  const bool named = control.source != Effects::implied;
  const bool mask = control.file == RegisterFile::sgpr && named && i.opcode->src[control.source] == Type::mask;
  const std::uint32_t counted = named ? read_bits(i, control.source) : ~0U, result = written_bits(i, wave.arch).result;
  const auto hits = [&](unsigned lane) {
    if (mask) return (shadow.scalar(control.first + lane / 32) >> lane % 32 & 1) != 0;
    if (control.file == RegisterFile::sgpr) return (shadow.scalar(control.first) & counted) != 0 || control.count > 1;
    return (shadow.bits(row_of(control.file, control.first), lane) & counted) != 0;
  };
  for (Undefined& undefined : results)
    for (auto& row : undefined.rows)
      for (unsigned lane = 0; lane < row.size(); ++lane)
        if (hits(lane) && (row.size() == 1 || (wave.exec() >> lane & 1))) row[lane] |= result;
}

std::vector<Undefined> ShadowRunner::multiply(const Wave& wave, const Instruction& i, const Effects& e,
                                              const Shadow& shadow, unsigned element_bits, unsigned result_bits) {
  prepare(wave, e, shadow, element_bits);
  handler_of(wave, i.opcode->name)(wave_, without_constants(i, e));
  auto results = collect(e);
  for (Undefined& result : results)
    for (std::size_t n = 0; n < result.rows.size(); ++n)
      for (unsigned lane = 0; lane < result.rows[n].size(); ++lane) {
        std::uint32_t& word = result.rows[n][lane];
        if (result_bits == 16) word = (is_nan16(word) ? 0xffffU : 0) | (is_nan16(word >> 16) ? 0xffff0000U : 0);
        else if (result_bits == 32) word = (word & 0x7fffffff) > 0x7f800000 ? ~0U : 0;
        else if (n % 2 == 1)  // the upper dword of an f64 tells
          word = result.rows[n - 1][lane] = (word & 0x7fffffff) >= 0x7ff80000 ? ~0U : 0;
      }
  return results;
}

std::vector<std::uint32_t> ShadowRunner::source(const Wave& wave, const Instruction& i, unsigned n,
                                                const Shadow& shadow) {
  const Operand& o = i.src[n];
  std::vector<std::uint32_t> words(lanes_, 0);
  if (o.kind == OperandKind::sgpr && o.index != sreg::null) {
    std::fill(words.begin(), words.end(), shadow.scalar(o.index));
    return words;
  }
  if (o.kind != OperandKind::vgpr && o.kind != OperandKind::agpr) return words;
  const unsigned row = o.index + (o.kind == OperandKind::agpr ? Wave::agpr_row : 0);
  for (unsigned lane = 0; lane < lanes_; ++lane) words[lane] = shadow.bits(row, lane);
  if (i.lane_map == LaneMap::none || (i.lane_map != LaneMap::sdwa && n != 0) || n > 1) return words;

  static const Opcode mov{"v_mov_b32", Format::vop1, 0, every_arch, Type::b32, Type::none, {Type::b32}};
  Instruction copy = i;
  copy.opcode = &mov;
  copy.dual = nullptr;
  copy.src = {};
  copy.src[0] = {OperandKind::vgpr, false, false, 1, 0, 0};
  copy.dst = {OperandKind::vgpr, false, false, 1, 1, 0};
  copy.src_sel[0] = i.src_sel[n];
  copy.dst_sel = SdwaSelect::dword;
  copy.neg = copy.abs = copy.omod = copy.sext = copy.op_sel = 0;
  copy.clamp = false;
  std::copy(words.begin(), words.end(), wave_.row(0));
  std::fill_n(wave_.row(1), lanes_, 0);
  wave_.arch = wave.arch;
  wave_.mode = mode::denorm_f32 | mode::denorm_f16_f64;
  std::copy_n(wave.sgpr, sreg::count, wave_.sgpr);
  handler_of(wave, mov.name)(wave_, copy);
  std::copy_n(wave_.row(1), lanes_, words.begin());
  return words;
}

}  // namespace rapt::sim
