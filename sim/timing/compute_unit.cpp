#include "sim/timing/compute_unit.hpp"

#include "sim/isa/properties.hpp"

namespace rapt::sim::timing {
namespace {

Stall stall_of(Counter counter, bool scalar) {
  switch (counter) {
    case Counter::lds: return scalar ? Stall::scalar_memory : Stall::lds;
    case Counter::scalar: return Stall::scalar_memory;
    default: return Stall::memory;
  }
}

}  // namespace

ComputeUnit::ComputeUnit(const Chip& chip, Steps& steps, const Shares& shares, Service& service,
                         std::vector<SlotTime>& slots, Placement placement, Timeline* timeline)
    : chip_(chip),
      steps_(steps),
      slots_(slots),
      timeline_(timeline),
      fetch_(chip, slots.size()),
      memory_(chip, shares, service),
      simds_(chip.simds),
      placement_(placement) {
  for (unsigned n = 0; n < chip.simds; ++n) simds_[n].compute_unit = n * compute_units_per_unit(chip) / chip.simds;
}

void ComputeUnit::start(const GroupTrace& trace, Clock at) {
  if (groups_started_ == 0) fetch_.warm(trace);
  auto group = std::make_unique<Group>();
  // The SIMDs that may have its waves.
  const unsigned count = placement_.one_compute_unit ? chip_.simds / compute_units_per_unit(chip_) : chip_.simds;
  const unsigned first = count * groups_started_++ % chip_.simds;
  for (const WaveTrace& wave : trace.waves) {
    if (wave.slots.empty()) continue;
    add_wave(*group, wave, simds_[first + next_simd_ % count], at);
    next_simd_ = (next_simd_ + 1) % chip_.simds;
  }
  group->lds_place = free_lds_place();
  group->live = static_cast<unsigned>(group->waves.size());
  groups_.push_back(std::move(group));
  if (groups_.size() == 1) now_ = std::max(now_, at);
}

// The lowest that no resident group has.
unsigned ComputeUnit::free_lds_place() const {
  unsigned place = 0;
  const auto taken = [&](const auto& group) { return group->lds_place == place; };
  while (std::any_of(groups_.begin(), groups_.end(), taken)) ++place;
  return place;
}

// RDNA 3's ISA document, 3.3.4: each half of the LDS's addresses is in one compute unit's banks. A group's addresses
// may be in either half, or in both, wherever its waves are. Here the middle of its LDS decides.
double& ComputeUnit::lds_free(const Wave& wave) {
  const unsigned compute_units = compute_units_per_unit(chip_);
  if (compute_units == 1 || placement_.one_compute_unit || placement_.lds_bytes == 0)
    return lds_free_[wave.simd->compute_unit];
  const unsigned middle = wave.group->lds_place * placement_.lds_bytes + placement_.lds_bytes / 2;
  return lds_free_[std::min(middle / properties(chip_.arch).lds_bytes_per_unit, compute_units - 1)];
}

ComputeUnit::Wave& ComputeUnit::add_wave(Group& group, const WaveTrace& trace, Simd& simd, Clock at) {
  Wave& wave = *group.waves.emplace_back(std::make_unique<Wave>());
  wave.trace = &trace;
  wave.group = &group;
  wave.simd = &simd;
  wave.could = at;
  wave.line = fetch_.line_of(trace.slots.front());
  wave.ready = std::max(at, fetch_.reach(wave.line, at));
  wave.reason = wave.ready > at ? Stall::fetch : Stall::issue;
  wave.age = waves_++;
  wave.results = is_rdna(chip_.arch) ? rdna_results(chip_) : cdna_results(chip_);
  simd.waves.push_back(&wave);
  simd.next = std::min(simd.next, wave.ready);
  return wave;
}

std::optional<Clock> ComputeUnit::run(Clock until) {
  ended_.reset();
  while (now_ < until) {
    for (Simd& simd : simds_) {
      if (simd.next > now_ || turn_at(simd, now_) != now_) continue;
      turn(simd);
      if (ended_ != nullptr) return now_;
    }
    now_ = next_turn();
  }
  return std::nullopt;
}

// The SIMD's first turn from then on.
Clock ComputeUnit::turn_at(const Simd& simd, Clock from) const {
  const auto number = static_cast<Clock>(&simd - simds_.data()) % chip_.turn_clocks;
  return from + (number + chip_.turn_clocks - from % chip_.turn_clocks) % chip_.turn_clocks;
}

// The first moment after this one at which a SIMD has its turn and a wave to try.
Clock ComputeUnit::next_turn() const {
  Clock first = never;
  for (const Simd& simd : simds_)
    if (simd.next != never) first = std::min(first, turn_at(simd, std::max(simd.next, now_ + 1)));
  return first;
}

void ComputeUnit::turn(Simd& simd) {
  Used used{};
  for (std::size_t n = 0; n < simd.waves.size() && ended_ == nullptr;) {
    Wave* const wave = simd.waves[n];
    if (!wave->at_barrier && wave->ready <= now_) try_issue(simd, *wave, used);
    if (n < simd.waves.size() && simd.waves[n] == wave) ++n;
  }
  simd.next = never;
  for (const Wave* wave : simd.waves)
    if (!wave->at_barrier) simd.next = std::min(simd.next, wave->ready);
}

void ComputeUnit::try_issue(Simd& simd, Wave& wave, Used& used) {
  const std::uint32_t slot = wave.trace->slots[wave.at];
  const Step& step = steps_.at(slot);
  if (step.waits && waits_for_counters(wave, step)) return;
  if (step.ends && waits_for_stores(wave)) return;
  const auto port = static_cast<unsigned>(step.port);
  if (step.port != Port::internal && used[port]) return;
  if (is_held(simd, wave, step)) return;
  // A product takes the vector port for its issue.
  used[port] = true;
  if (step.port == Port::matrix) used[static_cast<unsigned>(Port::vector)] = true;
  issue(simd, wave, step);
}

bool ComputeUnit::wait_until(Wave& wave, Clock time, Stall reason) {
  if (time <= now_) return false;
  wave.ready = time;
  wave.reason = reason;
  return true;
}

bool ComputeUnit::waits_for_counters(Wave& wave, const Step& step) {
  for (unsigned c = 0; c < counter_count; ++c) {
    const unsigned most = step.wait->at_most[c];
    if (most == WaitFacts::no_wait) continue;
    Outstanding& outstanding = wave.outstanding[c];
    if (wait_until(wave, outstanding.at_most(most), stall_of(static_cast<Counter>(c), wave.scalar_loads))) return true;
    outstanding.retire(now_);
    if (most == 0) wave.scalar_loads = false;
  }
  return false;
}

// s_endpgm waits for all counters (AMD's ISA manuals, S_ENDPGM), so a wave keeps its place until its stores have ended,
// unless it has released it.
bool ComputeUnit::waits_for_stores(Wave& wave) {
  for (unsigned c = 0; c < counter_count && !wave.released; ++c)
    if (wait_until(wave, wave.outstanding[c].at_most(0), stall_of(static_cast<Counter>(c), wave.scalar_loads)))
      return true;
  return false;
}

bool ComputeUnit::is_held(Simd& simd, Wave& wave, const Step& step) {
  const Results::Wait result = wave.results->wait(step, now_);
  if (wait_until(wave, result.until, result.reason)) return true;
  switch (step.port) {
    case Port::vector:
      return wait_until(wave, simd.vector_free, Stall::vector) ||
             (step.packed && wait_until(wave, simd.matrix_free, Stall::matrix)) ||
             (step.transcendental_clocks != 0 && wait_until(wave, simd.transcendental_free, Stall::vector));
    case Port::matrix:
      return wait_until(wave, simd.matrix_free, Stall::matrix) || wait_until(wave, simd.vector_free, Stall::vector);
    case Port::lds: {
      constexpr double waiting = 64;  // clocks of the banks' work that waves may have waiting
      const double free = lds_free(wave);
      return free > waiting && wait_until(wave, static_cast<Clock>(free - waiting), Stall::lds);
    }
    case Port::memory: return wait_until(wave, memory_.accepts(simd.compute_unit), Stall::memory);
    default: return false;
  }
}

void ComputeUnit::issue(Simd& simd, Wave& wave, const Step& step) {
  const std::uint32_t slot = wave.trace->slots[wave.at];
  SlotTime& time = slots_[slot];
  ++time.issued;
  ++instructions_;
  const Clock stalled = now_ > wave.could ? now_ - wave.could : 0;
  time.stalled[static_cast<unsigned>(wave.reason)] += stalled;
  if (timeline_ != nullptr) timeline_->add({now_, wave.age, slot, static_cast<std::uint32_t>(stalled), wave.reason});
  time.own += step.wave_clocks;
  wave.reason = Stall::issue;
  wave.ready = wave.could = now_ + step.wave_clocks;
  ++wave.at;
  if (step.vector_clocks != 0) simd.vector_free = now_ + step.vector_clocks;
  if (step.port == Port::vector) vector_busy_ += step.vector_clocks;
  if (step.port == Port::matrix) {
    simd.matrix_free = now_ + step.matrix_clocks;
    matrix_busy_ += step.matrix_clocks;
  }
  if (step.transcendental_clocks != 0) simd.transcendental_free = now_ + step.transcendental_clocks;
  wave.released |= step.releases;
  wave.results->issued(step, now_);
  issue_memory(wave, step, slot);
  if (step.priority != 255 && step.priority != wave.priority) {
    wave.priority = step.priority;
    std::stable_sort(simd.waves.begin(), simd.waves.end(), [](const Wave* a, const Wave* b) {
      return a->priority != b->priority ? a->priority > b->priority : a->age < b->age;
    });
  }
  const bool last = wave.at == wave.trace->slots.size();
  if (last) return end(simd, wave);
  go_on(wave, step, slot);
  if (step.arrives || step.joins) meet(wave, step);
}

// Fetches the wave's next instruction. The branch has the clocks after a taken branch; the next instruction has a
// miss's clocks.
void ComputeUnit::go_on(Wave& wave, const Step& step, std::uint32_t slot) {
  const std::uint32_t next = wave.trace->slots[wave.at], line = fetch_.line_of(next);
  const bool taken = next != slot + step.bytes / 4;
  if (taken) {
    ++slots_[slot].taken;
    if (step.port == Port::branch) {
      wave.ready = wave.could = now_ + chip_.refetch_clocks;
      slots_[slot].stalled[static_cast<unsigned>(Stall::fetch)] += chip_.refetch_clocks - step.wave_clocks;
    }
  }
  if (line == wave.line) return;
  wave.line = line;
  if (const Clock there = fetch_.reach(line, now_); there > wave.ready) wait_until(wave, there, Stall::fetch);
}

void ComputeUnit::issue_memory(Wave& wave, const Step& step, std::uint32_t slot) {
  Clock end = now_ + (step.coherent ? memory_.coherent_clocks() : chip_.scalar_load_clocks);
  if (step.request && wave.request < wave.trace->requests.size()) {
    const Request& request = wave.trace->requests[wave.request++];
    if (step.port == Port::memory) end = memory_.take(wave.simd->compute_unit, *wave.trace, request, slot, step, now_);
    double banks = request.lds_clocks + step.exchange_clocks;
    if (step.to_lds) banks = request.bytes / chip_.lds_bytes_per_clock;
    if (banks > 0) {
      double& free = lds_free(wave);
      free = std::max(free, static_cast<double>(now_)) + banks;
      if (!step.to_lds)
        end = std::max(step.port == Port::memory ? end : 0, static_cast<Clock>(free) + chip_.lds_clocks);
    }
  }
  if (!step.wait->counted) return;
  for (unsigned c = 0; c < counter_count; ++c)
    if (step.wait->queue[c] != WaitFacts::uncounted) wave.outstanding[c].add(end, !step.scalar_load);
  wave.scalar_loads |= step.scalar_load;
}

void ComputeUnit::meet(Wave& wave, const Step& step) {
  Group& group = *wave.group;
  if (step.arrives) ++wave.arrivals;
  wave.at_barrier = step.joins && wave.arrivals > group.barriers;
  if (step.arrives && ++group.arrived == group.live) release(group);
}

void ComputeUnit::release(Group& group) {
  group.arrived = 0;
  ++group.barriers;
  for (const auto& wave : group.waves) {
    if (!wave->at_barrier) continue;
    wave->at_barrier = false;
    SlotTime& barrier = slots_[wave->trace->slots[wave->at - 1]];
    if (now_ > wave->could) barrier.stalled[static_cast<unsigned>(Stall::barrier)] += now_ - wave->could;
    barrier.own += now_ + chip_.refetch_clocks - std::max(now_, wave->could);
    wave->could = now_ + chip_.refetch_clocks;
    wave->ready = std::max(wave->ready, wave->could);
    wave->simd->next = std::min(wave->simd->next, wave->ready);
  }
}

void ComputeUnit::end(Simd& simd, Wave& wave) {
  std::erase(simd.waves, &wave);
  Group& group = *wave.group;
  --group.live;
  if (group.live != 0 && group.arrived >= group.live) release(group);
  if (group.live != 0) return;
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.get() == &group; });
  ended_ = std::move(*found);
  groups_.erase(found);
}

}  // namespace rapt::sim::timing
