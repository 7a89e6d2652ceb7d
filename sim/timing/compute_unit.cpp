#include "sim/timing/compute_unit.hpp"

#include <limits>

namespace rapt::sim::timing {
namespace {

constexpr Clock never = std::numeric_limits<Clock>::max();

Stall stall_of(Counter counter, bool scalar) {
  switch (counter) {
    case Counter::lds: return scalar ? Stall::scalar_memory : Stall::lds;
    case Counter::scalar: return Stall::scalar_memory;
    default: return Stall::memory;
  }
}

}  // namespace

ComputeUnit::ComputeUnit(const Chip& chip, Steps& steps, const Shares& shares, Service& service,
                         std::vector<SlotTime>& slots, Timeline* timeline)
    : chip_(chip),
      steps_(steps),
      slots_(slots),
      timeline_(timeline),
      memory_(chip, shares, service),
      simds_(chip.simds) {}

void ComputeUnit::start(const GroupTrace& trace, Clock at) {
  auto group = std::make_unique<Group>();
  for (const WaveTrace& wave : trace.waves) {
    if (wave.slots.empty()) continue;
    auto& own = *group->waves.emplace_back(std::make_unique<Wave>());
    own.trace = &wave;
    own.group = group.get();
    own.ready = own.could = at;
    own.age = waves_++;
    simds_[next_simd_].waves.push_back(&own);
    next_simd_ = (next_simd_ + 1) % chip_.simds;
  }
  group->live = static_cast<unsigned>(group->waves.size());
  groups_.push_back(std::move(group));
  if (groups_.size() == 1) now_ = std::max(now_, at);
}

Clock ComputeUnit::run_to_end_of_group() {
  ended_.reset();
  while (true) {
    turn(simds_[now_ % chip_.simds]);
    if (ended_ != nullptr) return now_;
    now_ = next_turn();
  }
}

// The first moment after this one at which a SIMD has its turn and a wave to try.
Clock ComputeUnit::next_turn() const {
  Clock first = never;
  for (unsigned n = 0; n < chip_.simds; ++n) {
    Clock ready = never;
    for (const Wave* wave : simds_[n].waves)
      if (!wave->at_barrier) ready = std::min(ready, wave->ready);
    if (ready == never) continue;
    ready = std::max(ready, now_ + 1);
    first = std::min(first, ready + (n + chip_.simds - ready % chip_.simds) % chip_.simds);
  }
  return first;
}

void ComputeUnit::turn(Simd& simd) {
  Used used{};
  for (std::size_t n = 0; n < simd.waves.size() && ended_ == nullptr;) {
    Wave* const wave = simd.waves[n];
    if (!wave->at_barrier && wave->ready <= now_) try_issue(simd, *wave, used);
    if (n < simd.waves.size() && simd.waves[n] == wave) ++n;
  }
}

void ComputeUnit::try_issue(Simd& simd, Wave& wave, Used& used) {
  const std::uint32_t slot = wave.trace->slots[wave.at];
  const Step& step = steps_.at(slot);
  if (step.waits && waits_for_counters(wave, step)) return;
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

bool ComputeUnit::waits_for_products(Wave& wave, const Step& step) {
  std::erase_if(wave.products, [this](const Product& p) { return p.done <= now_; });
  for (const Product& p : wave.products) {
    Clock needed = 0;
    for (unsigned n = 0; n < step.touched_count; ++n)
      if (step.touched[n].overlaps(p.result)) needed = p.done;
    if (step.port == Port::matrix && needed == 0) {
      if (step.accumulator == p.result || step.result == p.result) needed = p.accumulated;
      else if (step.accumulator.overlaps(p.result) || step.result.overlaps(p.result)) needed = p.done;
    }
    if (wait_until(wave, needed, Stall::product)) return true;
  }
  return false;
}

bool ComputeUnit::is_held(Simd& simd, Wave& wave, const Step& step) {
  if (!wave.products.empty() && waits_for_products(wave, step)) return true;
  switch (step.port) {
    case Port::vector:
      return wait_until(wave, simd.vector_free, Stall::vector) ||
             (step.packed && wait_until(wave, simd.matrix_free, Stall::matrix));
    case Port::matrix:
      return wait_until(wave, simd.matrix_free, Stall::matrix) || wait_until(wave, simd.vector_free, Stall::vector);
    case Port::lds: {
      constexpr double waiting = 64;  // clocks of the banks' work that waves may have waiting
      return lds_free_ > waiting && wait_until(wave, static_cast<Clock>(lds_free_ - waiting), Stall::lds);
    }
    case Port::memory: return wait_until(wave, memory_.accepts(), Stall::memory);
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
  if (step.port == Port::matrix) {
    simd.matrix_free = now_ + step.matrix_clocks;
    matrix_busy_ += step.matrix_clocks;
    wave.products.push_back(
        {step.result, now_ + step.matrix_clocks + chip_.matrix_tail_clocks, now_ + step.matrix_clocks});
  }
  issue_memory(wave, step, slot);
  if (step.priority != 255 && step.priority != wave.priority) {
    wave.priority = step.priority;
    std::stable_sort(simd.waves.begin(), simd.waves.end(), [](const Wave* a, const Wave* b) {
      return a->priority != b->priority ? a->priority > b->priority : a->age < b->age;
    });
  }
  const bool last = wave.at == wave.trace->slots.size();
  if (last) return end(simd, wave);
  if (wave.trace->slots[wave.at] != slot + step.bytes / 4) {
    ++time.taken;
    if (step.port == Port::branch) {
      wave.ready = wave.could = now_ + chip_.refetch_clocks;
      time.own += chip_.refetch_clocks - step.wave_clocks;
    }
  }
  if (step.barrier) arrive(wave);
}

void ComputeUnit::issue_memory(Wave& wave, const Step& step, std::uint32_t slot) {
  Clock end = now_ + chip_.scalar_load_clocks;
  if (step.request && wave.request < wave.trace->requests.size()) {
    const Request& request = wave.trace->requests[wave.request++];
    if (step.port == Port::memory) end = memory_.take(*wave.trace, request, slot, step.store, now_);
    double banks = request.lds_clocks;
    if (step.to_lds) banks = request.bytes / chip_.lds_bytes_per_clock;
    if (banks > 0) {
      const double begin = std::max(lds_free_, static_cast<double>(now_));
      lds_free_ = begin + banks;
      if (!step.to_lds)
        end = std::max(step.port == Port::memory ? end : 0, static_cast<Clock>(lds_free_) + chip_.lds_clocks);
    }
  }
  if (!step.wait->counted) return;
  for (unsigned c = 0; c < counter_count; ++c)
    if (step.wait->queue[c] != WaitFacts::uncounted) wave.outstanding[c].add(end, !step.scalar_load);
  wave.scalar_loads |= step.scalar_load;
}

void ComputeUnit::arrive(Wave& wave) {
  wave.at_barrier = true;
  if (++wave.group->arrived == wave.group->live) release(*wave.group);
}

void ComputeUnit::release(Group& group) {
  group.arrived = 0;
  for (const auto& wave : group.waves) {
    if (!wave->at_barrier) continue;
    wave->at_barrier = false;
    SlotTime& barrier = slots_[wave->trace->slots[wave->at - 1]];
    if (now_ > wave->could) barrier.stalled[static_cast<unsigned>(Stall::barrier)] += now_ - wave->could;
    barrier.own += now_ + chip_.refetch_clocks - std::max(now_, wave->could);
    wave->ready = wave->could = now_ + chip_.refetch_clocks;
  }
}

void ComputeUnit::end(Simd& simd, Wave& wave) {
  std::erase(simd.waves, &wave);
  Group& group = *wave.group;
  --group.live;
  if (group.live != 0 && group.arrived == group.live) release(group);
  if (group.live != 0) return;
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.get() == &group; });
  ended_ = std::move(*found);
  groups_.erase(found);
}

}  // namespace rapt::sim::timing
