#include "sim/tests/support/instructions/renamed_run.hpp"

#include "sim/machine/scalar/operands.hpp"

#include <algorithm>

namespace rapt::sim::test {
namespace {

constexpr unsigned runs_with_one_base = 32;

std::array<std::span<unsigned char>, 3> memories(MachineState& s) { return {s.memory, s.lds, s.scratch}; }

std::string hex(std::uint32_t value) {
  std::array<char, 16> text;
  std::snprintf(text.data(), text.size(), "%08x", value);
  return text.data();
}

}  // namespace

RenamedRun::RenamedRun(Target target) : target_(target), scene_(target) {
  std::mt19937 random(1);
  pool_.resize(65536);
  for (std::uint32_t& word : pool_) word = static_cast<std::uint32_t>(random());
  base_ = scene_.random_state(random);
  base_.pc = 0x1000;
  refresh(random);
}

// New values in all registers. Every second time small numbers of any floating-point format, because too many random
// bits are NaNs.
void RenamedRun::refresh(std::mt19937& random) {
  const std::uint32_t mask = random() % 2 != 0 ? ~0U : 0xbfbfbfbf;
  std::size_t at = random() % 4096;
  for (std::uint32_t& word : base_.vgpr) word = pool_[at++ % pool_.size()] & mask;
  for (std::uint32_t& word : base_.sgpr) word = pool_[at++ % pool_.size()] & mask;
  base_.sgpr[sreg::null] = 0;
  base_.scc = random() % 2 != 0;
  before_ = apart_ = after_ = base_;
  scene_.set(base_);
}

std::span<std::uint32_t> RenamedRun::unit(std::uint32_t* vgpr, std::uint32_t* sgpr, Unit u) const {
  if (u >= first_sgpr) return {sgpr + (u - first_sgpr), 1};
  return {vgpr + std::size_t{u} * target_.lanes, target_.lanes};
}

// How many registers M0 moves an operand by. It holds one number for all, or two: the lower one is the source's.
unsigned RenamedRun::moved_by(const Instruction& i, unsigned slot) const {
  const std::string_view name = i.opcode->name;
  const std::uint32_t m0 = before_.sgpr[sreg::m0];
  if (!is_relative(*i.opcode, slot) || (name.starts_with("v_") && operand(i, slot).kind != OperandKind::vgpr)) return 0;
  if (name.find("_2_") == std::string_view::npos && name != "v_swaprel_b32") return m0;
  return slot == dst ? m0 >> 16 & 0x3ff : m0 & 0x3ff;
}

void RenamedRun::name_registers(const Instruction& overlapping, const Instruction& apart) {
  names_.clear(), flags_.clear();
  touched_ = {first_sgpr + sreg::m0, first_sgpr + sreg::exec, first_sgpr + sreg::exec + 1};
  const auto first = [&](const Instruction& i, unsigned slot) {
    const Operand& o = operand(i, slot);
    return (o.kind == OperandKind::sgpr   ? first_sgpr
            : o.kind == OperandKind::agpr ? Wave::agpr_row
                                          : 0) +
           o.index + moved_by(i, slot);
  };
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    const Operand& o = operand(overlapping, slot);
    if (o.kind == OperandKind::special) name_flag(o, operand(apart, slot));
    if (o.kind != OperandKind::vgpr && o.kind != OperandKind::agpr && o.kind != OperandKind::sgpr) continue;
    if (o.kind == OperandKind::sgpr && o.index == sreg::null) continue;
    for (unsigned d = 0; d < o.dwords; ++d) {
      names_.push_back({first(overlapping, slot) + d, first(apart, slot) + d});
      touched_.push_back(names_.back().overlapping), touched_.push_back(names_.back().apart);
    }
  }
}

// A flag's value is put where the reference reads it. Every second time VCC is 0, which is rare by chance.
void RenamedRun::name_flag(const Operand& flag, const Operand& apart) {
  if (runs_ % 2 == 0) before_.sgpr[sreg::vcc] = before_.sgpr[sreg::vcc + 1] = 0;
  Wave w;
  w.lanes = target_.lanes, w.scc = base_.scc;
  std::ranges::copy(before_.sgpr, w.sgpr);
  flags_.push_back({apart.index, static_cast<std::uint32_t>(read_special(w, flag))});
  for (unsigned d = 0; d < apart.dwords; ++d) touched_.push_back(first_sgpr + apart.index + d);
}

void RenamedRun::copy_touched(MachineState& to, MachineState& from) {
  for (const Unit u : touched_) std::ranges::copy(in(from, u), in(to, u).begin());
}

// Runs the scene, which holds base_ except for touched registers, from the state on. "", or why it ended early.
std::string RenamedRun::run(const Instruction& i, MachineState& from) {
  Wave& w = scene_.wave();
  for (const Unit u : touched_) std::ranges::copy(in(from, u), in(w, u).begin());
  std::ranges::copy(from.sgpr, w.sgpr);
  w.mode = mode_, w.status = base_.status, w.trapsts = base_.trapsts, w.pc = base_.pc, w.scc = base_.scc;
  w.state = WaveState::running;
  try {
    scene_.run(i);
  } catch (const std::exception& fault) {
    return fault.what();
  }
  return "";
}

// What the run with all registers apart has done, said of the overlapping ones: after_.
std::string RenamedRun::expect() {
  Wave& w = scene_.wave();
  copy_touched(after_, before_);
  after_.sgpr = before_.sgpr;
  std::array<bool, first_sgpr + sreg::count> named{};
  for (const Name& n : names_) {
    named[n.apart] = true;
    const auto old = in(apart_, n.apart), now = in(w, n.apart);
    const auto expected = in(after_, n.overlapping);
    // Per bit: two results may be the halves of one register.
    for (std::size_t l = 0; l < now.size(); ++l) {
      const std::uint32_t changed = now[l] ^ old[l];
      expected[l] = (expected[l] & ~changed) | (now[l] & changed);
    }
  }
  // What it writes implicitly: VCC, EXEC, M0. It remains if a named destination is the same register.
  for (unsigned s = 0; s < sreg::count; ++s)
    if (!named[first_sgpr + s] && w.sgpr[s] != apart_.sgpr[s]) after_.sgpr[s] = w.sgpr[s];
  for (const Name& n : names_) std::ranges::copy(in(apart_, n.apart), in(w, n.apart).begin());
  if (std::memcmp(w.vgpr, apart_.vgpr.data(), 4 * apart_.vgpr.size()) != 0)
    return "the reference writes a row that is none of its operands";
  if (with_memory_) {
    const auto now = scene_.memories(), expected = memories(after_);
    for (unsigned m = 0; m < 3; ++m) std::ranges::copy(now[m], expected[m].begin());
  }
  after_.mode = w.mode, after_.status = w.status, after_.trapsts = w.trapsts, after_.pc = w.pc, after_.scc = w.scc;
  after_.wave = w.state;
  return "";
}

std::string RenamedRun::compare() {
  Wave& w = scene_.wave();
  const bool same_rows = std::memcmp(w.vgpr, after_.vgpr.data(), 4 * after_.vgpr.size()) == 0;
  for (Unit u = same_rows ? first_sgpr : 0; u < first_sgpr + sreg::count; ++u) {
    if (u < first_sgpr && u >= after_.vgpr.size() / target_.lanes) continue;
    const auto now = in(w, u), expected = in(after_, u);
    const auto [a, b] = std::ranges::mismatch(now, expected);
    if (a == now.end()) continue;
    const std::string file = u >= first_sgpr ? "s" : u >= Wave::agpr_row ? "a" : "v";
    return file + std::to_string(u % Wave::agpr_row) + " of lane " + std::to_string(a - now.begin()) + " is " +
           hex(*a) + ", not " + hex(*b);
  }
  if (with_memory_) {
    const auto now = scene_.memories(), expected = memories(after_);
    for (unsigned m = 0; m < 3; ++m)
      if (!std::ranges::equal(now[m], expected[m])) return "memory differs";
  }
  const bool same = after_.mode == w.mode && after_.status == w.status && after_.trapsts == w.trapsts &&
                    after_.pc == w.pc && after_.scc == w.scc && after_.wave == w.state;
  return same ? "" : "SCC, the mode or the program counter differs";
}

void RenamedRun::restore_memory() {
  const auto now = scene_.memories(), old = memories(base_);
  for (unsigned m = 0; m < 3; ++m)
    if (!std::ranges::equal(now[m], old[m])) std::ranges::copy(old[m], now[m].begin());
}

std::string RenamedRun::difference(const Instruction& overlapping, const Instruction& apart,
                                   const Conditions& conditions, std::mt19937& random) {
  if (runs_++ % runs_with_one_base == 0) refresh(random);
  mode_ = conditions.mode;
  with_memory_ = reaches_memory(*overlapping.opcode);
  before_.sgpr = base_.sgpr;
  before_.sgpr[sreg::exec] = static_cast<std::uint32_t>(conditions.exec);
  before_.sgpr[sreg::exec + 1] = static_cast<std::uint32_t>(conditions.exec >> 32);
  scene_.make_valid(before_, overlapping, random, conditions.beyond);
  name_registers(overlapping, apart);
  copy_touched(apart_, before_);
  apart_.sgpr = before_.sgpr;
  for (const Name& n : names_) std::ranges::copy(in(before_, n.overlapping), in(apart_, n.apart).begin());
  for (const Flag& f : flags_) apart_.sgpr[f.sgpr] = f.value, apart_.sgpr[f.sgpr + 1] = 0;

  std::string result = run(apart, apart_);
  if (!result.empty()) result = "the reference ends with: " + result;
  else result = expect();
  if (with_memory_) restore_memory();
  if (result.empty()) {
    result = run(overlapping, before_);
    if (result.empty()) result = compare();
    if (with_memory_) restore_memory();
  }
  for (MachineState* state : {&before_, &apart_, &after_}) copy_touched(*state, base_);
  for (const Unit u : touched_) std::ranges::copy(in(base_, u), in(scene_.wave(), u).begin());
  return result;
}

}  // namespace rapt::sim::test
