#include "sim/tests/support/bits/instruction_trial.hpp"

#include "sim/isa/facts/waits.hpp"
#include "sim/tests/support/bits/telling_numbers.hpp"

#include <algorithm>
#include <numeric>

namespace rapt::sim::test {
namespace {

bool same(const LdsArrival& a, const LdsArrival& b) {
  const auto equal = [](const LdsArrival::Word& x, const LdsArrival::Word& y) {
    return x.to == y.to && x.value == y.value;
  };
  return a.operation == b.operation &&
         std::equal(a.words.begin(), a.words.end(), b.words.begin(), b.words.end(), equal);
}

bool same(const Wave& a, const Wave& b) {
  return std::equal(std::begin(a.sgpr), std::end(a.sgpr), b.sgpr) && a.scc == b.scc && a.pc == b.pc &&
         a.state == b.state && a.mode == b.mode && a.status == b.status && a.trapsts == b.trapsts &&
         a.memory_operations == b.memory_operations && a.barrier_phase == b.barrier_phase &&
         std::equal(a.lds_arrivals.begin(), a.lds_arrivals.end(), b.lds_arrivals.begin(), b.lds_arrivals.end(),
                    [](const LdsArrival& x, const LdsArrival& y) { return same(x, y); });
}

// As many as vmcnt can count, a dword each.
void begin_loads_to_lds(Wave& w) {
  for (unsigned n = 0; n < 63; ++n)
    w.lds_arrivals.push_back({w.memory_operations - 62 + n, {{w.group->lds.data() + std::size_t{4} * n, n}}});
}

}  // namespace

InstructionTrial::InstructionTrial(Target target) : lanes_(target.lanes), scene_(target) {
  std::mt19937 random(1);
  fresh_ = scene_.random_state(random);
  every_row_.resize(fresh_.vgpr.size() / lanes_);
  std::iota(every_row_.begin(), every_row_.end(), 0U);
}

void InstructionTrial::renew(std::mt19937& random) {
  fill_with_numbers(fresh_, scene_.target(), ++kind_, random);
  start_ = after_ = fresh_;
  scene_.set(start_);
  live().memory_operations = 100;
  live().cycles = random();
  live().barrier_phase = 0, live().lds_arrivals.clear();
  group().barrier.phase = random() % 4;
  start_scalars_ = {live(), group().barrier, group().live_waves};
}

// AGPRs follow the VGPRs.
std::vector<unsigned> InstructionTrial::rows_written(const Effects& effects) const {
  if (everywhere_) return every_row_;
  std::vector<unsigned> rows;
  for (const RegisterAccess& access : effects.writes()) {
    const unsigned file = access.file == RegisterFile::agpr ? Wave::agpr_row : 0;
    if (access.file == RegisterFile::vgpr || access.file == RegisterFile::agpr)
      for (unsigned n = 0; n < access.count; ++n) rows.push_back(file + access.first + n);
  }
  return rows;
}

bool InstructionTrial::reaches_memory(const Instruction& i) const {
  switch (i.opcode->format) {
    case Format::smem:
    case Format::ds:
    case Format::flat:
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf:
    case Format::sopp: return true;  // an outstanding load to LDS arrives at a wait
    default: return everywhere_;
  }
}

// Sets start_ and start_scalars_; the live state follows in begin().
void InstructionTrial::suit(const Instruction& i, std::mt19937& random) {
  suited_rows_.clear();
  for (const Operand& o : i.src)
    for (unsigned n = 0; n < o.dwords && o.kind == OperandKind::vgpr; ++n) suited_rows_.push_back(o.index + n);
  fill_scalars(start_, scene_.target(), kind_ + static_cast<unsigned>(random() % 2 * (random() % 8)), random);
  start_scalars_.wave.scc = start_.scc;
  meet_constants(start_, scene_.target(), i, random);
  scene_.make_valid(start_, i, random, random() % 4 == 0);
  if (i.lane_map == LaneMap::sdwa) clear_bytes(i, random);
  if (i.opcode->name.starts_with("ds_condxchg")) unalign(i.src[0], random);
  const bool all = needs_all_lanes(*i.opcode),
             none = i.opcode->name.starts_with("s_cbranch_exec") || i.opcode->name.starts_with("s_subvector");
  if (all || (none && random() % 2 == 0)) start_.sgpr[sreg::exec] = start_.sgpr[sreg::exec + 1] = all ? ~0U : 0U;
  if (lanes_ == 32) start_.sgpr[sreg::exec + 1] = 0;
  if (i.opcode->name.starts_with("s_barrier_signal")) std::fill_n(start_.sgpr.begin(), sreg::null, ~0U);
  std::copy(start_.sgpr.begin(), start_.sgpr.end(), start_scalars_.wave.sgpr);
  start_scalars_.wave.lds_arrivals.clear();
  if (i.opcode->name == "s_waitcnt" && is_cdna(live().arch)) begin_loads_to_lds(start_scalars_.wave);
}

// So that an operation which only tells denormals from 0 shows which of them it selects.
void InstructionTrial::clear_bytes(const Instruction& i, std::mt19937& random) {
  constexpr std::uint32_t kept[] = {0xff00ff00, 0x00ff00ff, 0x0000ffff, 0xffff0000};
  for (const Operand& o : i.src)
    for (unsigned lane = random() % 2; lane < lanes_ && o.kind == OperandKind::vgpr; lane += 4)
      start_.vgpr[row_at(o.index) + lane] &= kept[random() % std::size(kept)];
}

// Its address is aligned after the offset is added.
void InstructionTrial::unalign(const Operand& address, std::mt19937& random) {
  for (unsigned lane = 0; lane < lanes_; ++lane)
    start_.vgpr[row_at(address.index) + lane] += static_cast<std::uint32_t>(random()) % 8;
}

InstructionTrial::Run InstructionTrial::run(const Instruction& i) {
  if (handler_ == nullptr) return {Ended::refused, "no handler"};
  live().pc = start_.pc + i.size;
  try {
    handler_(live(), i);
  } catch (const Fault& fault) {
    return {fault.kind == FaultKind::illegal_instruction ? Ended::refused : Ended::with_fault, fault.what()};
  }
  return {};
}

InstructionTrial::Ended InstructionTrial::begin(const Instruction& i, std::mt19937& random) {
  base_ = &i;
  handler_ = handlers().find(i.opcode->name, live().arch, lanes_);
  suit(i, random);
  restore(suited_rows_, false);
  for (const unsigned row : suited_rows_) std::copy_n(&start_.vgpr[row_at(row)], lanes_, &after_.vgpr[row_at(row)]);

  after_run_ = run(i);
  base_effects_ = effects(i, lanes_);
  after_rows_ = rows_written(base_effects_);
  for (const unsigned row : after_rows_) std::copy_n(live().row(row), lanes_, &after_.vgpr[row_at(row)]);
  after_scalars_ = {live(), group().barrier, group().live_waves};
  const bool memory = reaches_memory(i);
  if (memory) {
    const auto [global, lds, scratch] = scene_.memories();
    std::copy(global.begin(), global.end(), after_.memory.begin());
    std::copy(lds.begin(), lds.end(), after_.lds.begin());
    std::copy(scratch.begin(), scratch.end(), after_.scratch.begin());
  }
  restore(after_rows_, memory);
  return after_run_.ended;
}

// The live state as it was at the start.
void InstructionTrial::restore(const std::vector<unsigned>& rows, bool memory) {
  for (const unsigned row : rows) std::copy_n(&start_.vgpr[row_at(row)], lanes_, live().row(row));
  live() = start_scalars_.wave;
  group().barrier = start_scalars_.barrier;
  group().live_waves = start_scalars_.live_waves;
  if (!memory) return;
  const auto [global, lds, scratch] = scene_.memories();
  std::copy(start_.memory.begin(), start_.memory.end(), global.begin());
  std::copy(start_.lds.begin(), start_.lds.end(), lds.begin());
  std::copy(start_.scratch.begin(), start_.scratch.end(), scratch.begin());
}

bool InstructionTrial::same_as(const Scalars& scalars) {
  const Barrier &a = group().barrier, &b = scalars.barrier;
  return same(live(), scalars.wave) && a.members == b.members && a.signalled == b.signalled && a.phase == b.phase &&
         group().live_waves == scalars.live_waves;
}

bool InstructionTrial::same_memory(const MachineState& state) {
  const auto [global, lds, scratch] = scene_.memories();
  return std::equal(lds.begin(), lds.end(), state.lds.begin()) &&
         std::equal(global.begin(), global.end(), state.memory.begin()) &&
         std::equal(scratch.begin(), scratch.end(), state.scratch.begin());
}

// Waits and no-operations affect time, and what the sanitizer assumes to have arrived.
bool InstructionTrial::same_time(const Instruction& variant, const Effects& e) {
  if (variant.opcode->format != Format::sopp && e.unit != Unit::wait) return true;
  const Arch arch = live().arch;
  const WaitFacts a = wait_facts(*base_, base_effects_, arch), b = wait_facts(variant, e, arch);
  return clocks(*base_, base_effects_, arch, lanes_).issue == clocks(variant, e, arch, lanes_).issue &&
         a.at_most == b.at_most && a.added_sgpr == b.added_sgpr;
}

InstructionTrial::Variant InstructionTrial::compare(const Instruction& variant) {
  const Run ran = run(variant);
  const Effects variant_effects = effects(variant, lanes_);
  const std::vector<unsigned> rows = rows_written(variant_effects);
  const bool memory = reaches_memory(variant);
  const auto row_differs = [&](unsigned row) {
    return !std::equal(live().row(row), live().row(row) + lanes_, &after_.vgpr[row_at(row)]);
  };
  const bool differs = ran.fault != after_run_.fault || !same_as(after_scalars_) ||
                       std::any_of(rows.begin(), rows.end(), row_differs) ||
                       std::any_of(after_rows_.begin(), after_rows_.end(), row_differs) ||
                       (memory && !same_memory(after_)) || !same_time(variant, variant_effects);
  restore(rows, memory);
  return {ran.ended, differs};
}

bool InstructionTrial::end(bool watched) {
  const bool whole =
      !watched || (std::equal(start_.vgpr.begin(), start_.vgpr.end(), live().vgpr) && same_memory(start_));
  if (!whole) restore(every_row_, true);
  for (const unsigned row : suited_rows_) std::copy_n(&fresh_.vgpr[row_at(row)], lanes_, &start_.vgpr[row_at(row)]);
  start_.sgpr = fresh_.sgpr;
  restore(suited_rows_, false);
  for (const std::vector<unsigned>* rows : {&suited_rows_, &after_rows_})
    for (const unsigned row : *rows) std::copy_n(&start_.vgpr[row_at(row)], lanes_, &after_.vgpr[row_at(row)]);
  return whole;
}

}  // namespace rapt::sim::test
