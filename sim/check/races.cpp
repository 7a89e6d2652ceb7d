#include "sim/check/races.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

// Loads and stores that the compiler made of atomic ones carry bits that pass by caches (LLVM's AMDGPUUsage, "Memory
// Model"): glc, without slc, which marks streaming ones; sc0 or sc1 on gfx940 and later; a scope on gfx12.
bool coherent(const Instruction& i, Arch arch) {
  if (contains(gfx12, arch)) return i.scope != 0;
  if (arch == Arch::gfx942 || arch == Arch::gfx950) return i.glc || i.scc;
  return (i.glc || i.dlc) && !i.slc;
}

// The memory operand's registers go to memory as they are.
bool stores_registers(const Entry& entry) {
  const std::string_view name = entry.instruction.opcode->name;
  const auto says = [name](std::string_view part) { return name.find(part) != name.npos; };
  return !entry.instruction.lds && !says("_lds") && !says("format") && !says("block");
}

}  // namespace

RaceCheck::RaceCheck(Workgroup& group, RaceLaunch& launch)
    : group_(group), launch_(launch), code_(*group.program), number_(launch.add_group(group.id)) {
  for (const Wave& wave : group.waves) clocks_.emplace_back(launch.stamps, number_, wave.index);
  barrier_.resize(group.waves.size());
  phase_ = group.barrier.phase;
}

void RaceCheck::before(Wave&, const Entry& entry) {
  entry_ = &entry;
  stored_dwords_ = 0;
}

void RaceCheck::access(Wave& wave, const Instruction& i, const Access& access) {
  if (access.space == Space::scratch || access.lanes == 0) return;
  WaveClock& clock = clocks_[wave.index];
  barrier_[wave.index].accessed = true;
  const bool atomic = access.action == Action::atomic || entry_->effects.atomic ||
                      (access.space == Space::global && entry_->effects.unit != Unit::smem && coherent(i, wave.arch));
  space_ = access.space;
  actor_.wave = wave.index;
  actor_.bit = 1U << wave.index;
  actor_.slot = entry_->slot;
  actor_.kind = static_cast<std::uint8_t>((access.action != Action::load ? RaceMark::writes : 0) |
                                          (atomic ? RaceMark::atomic : 0));
  actor_.floor = clock.group_floor();
  if (atomic) {
    // What comes before is let go before memory changes; what others let go is taken up after the value was read.
    if (access.action != Action::load) {
      const Release release = clock.release();
      for_lanes(access.lanes, [&](unsigned lane) { atomics().add(access.at[lane], release); });
    }
    if (access.action == Action::load) {
      Later& later = later_.emplace_back(Later{access, {}});
      for_lanes(access.lanes, [&](unsigned lane) { later.at[lane] = access.at[lane]; });
      return;
    }
    if (i.dst.kind != OperandKind::none)
      for_lanes(access.lanes, [&](unsigned lane) { to_acquire_.emplace_back(access.space, access.at[lane]); });
  }
  touch_access(wave, i, access);
  // This may be a flag that nothing marks as one: what comes later is not let go with it.
  if (access.action == Action::store && std::has_single_bit(access.lanes)) clock.end_epoch();
}

void RaceCheck::after(Wave& wave, const Entry& entry) {
  if (!later_.empty() || !to_acquire_.empty()) {
    for (Later& later : later_) {
      later.access.at = later.at.data();
      space_ = later.access.space;
      touch_access(wave, entry.instruction, later.access);
      for_lanes(later.access.lanes, [&](unsigned lane) { acquire(later.at[lane]); });
    }
    for (const auto& [space, address] : to_acquire_) {
      space_ = space;
      acquire(address);
    }
    later_.clear();
    to_acquire_.clear();
  }
  if (entry.effects.unit == Unit::barrier) barrier(wave.index, entry.instruction.opcode->name);
  else if (group_.barrier.phase != phase_) complete_phase();  // a wave ended, and the others had come
}

void RaceCheck::touch_access(const Wave& wave, const Instruction& i, const Access& access) {
  access_ = &access;
  actor_.clock = clocks_[wave.index].now();
  const bool stores = access.action != Action::load;
  raw_store_ = access.action == Action::store && stores_registers(*entry_);
  for (std::uint64_t rest = access.lanes; rest != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(rest));
    Run run{access.at[first], access.at[first] + access.bytes, nullptr};
    unsigned lane = first + 1;
    for (; lane < 64 && (rest >> lane & 1) != 0; ++lane) {
      if (access.at[lane] == run.end) run.end += access.bytes;
      else if (stores || access.at[lane] != access.at[lane - 1]) break;
    }
    rest = lane == 64 ? 0 : rest >> lane << lane;
    if (raw_store_) run.data = stored_data(wave, i, access, first, lane);
    touch_run(run);
  }
  if (access.action == Action::store) stored_dwords_ += (access.bytes + 3) / 4;
}

// What lanes first..end-1 store, one after the other.
const unsigned char* RaceCheck::stored_data(const Wave& wave, const Instruction& i, const Access& access,
                                            unsigned first, unsigned end) {
  const bool second = entry_->effects.unit == Unit::lds && stored_dwords_ >= std::max<unsigned>(1, i.src[1].dwords);
  const Operand& o = i.src[second ? 2 : 1];
  if (o.kind != OperandKind::vgpr && o.kind != OperandKind::agpr) return nullptr;
  const unsigned dword = second ? stored_dwords_ - std::max<unsigned>(1, i.src[1].dwords) : stored_dwords_;
  const std::uint32_t* row =
      wave.vgpr + std::size_t{o.index + dword + (o.kind == OperandKind::agpr ? wave.first_agpr : 0)} * wave.lanes;
  unsigned char* to = data_.data();
  if (access.bytes < 4) {
    const bool upper = o.high || i.opcode->name.find("d16_hi") != std::string_view::npos;
    for (unsigned lane = first; lane < end; ++lane, to += access.bytes) {
      const std::uint32_t value = row[lane] >> (upper ? 16 : 0);
      std::memcpy(to, &value, access.bytes);
    }
  } else {
    for (unsigned lane = first; lane < end; ++lane)
      for (unsigned d = 0; d < access.bytes / 4; ++d, to += 4) std::memcpy(to, &row[d * wave.lanes + lane], 4);
  }
  return data_.data();
}

void RaceCheck::touch_run(const Run& run) {
  if (space_ == Space::lds) touch_lds(run);
  else touch_global(run);
}

void RaceCheck::touch_lds(const Run& run) {
  constexpr unsigned size = RaceGranule::size;
  if (lds_.empty()) lds_.resize((group_.lds.size() + size - 1) / size);
  const auto memory = reinterpret_cast<std::uint64_t>(group_.lds.data());
  const std::uint64_t begin = run.begin - memory, end = run.end - memory;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t granule = at / size, next = std::min(end, (granule + 1) * size);
    touch(lds_[granule], memory + granule * size, static_cast<unsigned>(at % size),
          static_cast<unsigned>(next - granule * size), run.data ? run.data + (at - begin) : nullptr);
    at = next;
  }
}

RacePage& RaceCheck::locked_page(std::uint64_t number) {
  RacePage*& cached = pages_[number % pages_.size()];
  for (;;) {
    if (cached) {
      cached->lock.lock();
      if (cached->number == number) return *cached;
      cached->lock.unlock();
    }
    cached = &launch_.page(number);
  }
}

void RaceCheck::touch_global(const Run& run) {
  constexpr unsigned size = RaceGranule::size;
  for (std::uint64_t at = run.begin; at < run.end;) {
    const std::uint64_t number = at / RacePage::size, page_end = std::min(run.end, (number + 1) * RacePage::size);
    RacePage& page = locked_page(number);
    const std::lock_guard lock(page.lock, std::adopt_lock);
    while (at < page_end) {
      const std::uint64_t base = at / size * size, next = std::min(page_end, base + size);
      touch(page.granules[base % RacePage::size / size], base, static_cast<unsigned>(at - base),
            static_cast<unsigned>(next - base), run.data ? run.data + (at - run.begin) : nullptr);
      at = next;
    }
  }
}

// An access of bytes from..to-1 against those that are remembered, which it then joins.
void RaceCheck::touch(RaceGranule& granule, std::uint64_t base, unsigned from, unsigned to, const unsigned char* data) {
  const auto bytes = static_cast<std::uint16_t>((1U << to) - (1U << from));
  std::uint8_t kind = actor_.kind;
  const bool writes = kind & RaceMark::writes;
  RaceMark* place = nullptr;
  bool recorded = false;
  for (RaceMark& mark : granule.marks) {
    if (mark.bytes == 0) {
      if (!place) place = &mark;
      continue;
    }
    const bool own = mark.group == number_;
    if (own && mark.slot == actor_.slot && mark.clock == actor_.clock && mark.kind == kind &&
        (mark.waves == actor_.bit || (!writes && mark.bytes == bytes))) {
      if (mark.waves == actor_.bit) mark.bytes |= bytes;
      else mark.waves |= actor_.bit;
      recorded = true;
      continue;
    }
    const auto both = static_cast<std::uint16_t>(mark.bytes & bytes);
    const bool ordered = (own && (mark.waves == actor_.bit || mark.clock <= actor_.floor)) ||
                         clocks_[actor_.wave].knows(mark.group, mark.waves, mark.clock);
    if (ordered) {
      // A lock that the wave took since the last barrier is let go.
      if (both != 0 && writes && mark.kind & RaceMark::atomic && own && mark.waves == actor_.bit &&
          mark.clock > actor_.floor && !marks_stores(mark) && !(kind & RaceMark::atomic))
        become_atomic(kind, base + static_cast<unsigned>(std::countr_zero(both)));
      // Whoever races with the older one races with this one too.
      if (writes || !(mark.kind & RaceMark::writes)) mark.bytes = static_cast<std::uint16_t>(mark.bytes & ~both);
      // Nobody else sees the LDS, and all waves have passed the barrier after that access.
      if (space_ == Space::lds && mark.clock <= actor_.floor) mark.bytes = 0;
      if (mark.bytes == 0 && !place) place = &mark;
    } else if (both != 0 && (writes || mark.kind & RaceMark::writes) && !(kind & mark.kind & RaceMark::atomic)) {
      conflict(granule, mark, base, both, from, data, kind);
    }
  }
  if (!recorded) {
    if (!place)
      place = &*std::min_element(granule.marks.begin(), granule.marks.end(), [](const RaceMark& a, const RaceMark& b) {
        const bool aw = a.kind & RaceMark::writes, bw = b.kind & RaceMark::writes;
        return aw != bw ? bw : a.clock < b.clock;
      });
    const bool unknown = writes && !data;
    *place = {actor_.clock, number_, actor_.bit,
              actor_.slot,  bytes,   static_cast<std::uint8_t>(kind | (unknown ? RaceMark::unknown_value : 0))};
  }
  if (data) std::memcpy(granule.value.data() + from, data, to - from);
}

// An unordered pair: equal stores, an atomic in disguise, or a race. `kind` is that of the access at hand.
void RaceCheck::conflict(const RaceGranule& granule, const RaceMark& mark, std::uint64_t base, std::uint16_t bytes,
                         unsigned from, const unsigned char* data, std::uint8_t& kind) {
  const bool writes = kind & RaceMark::writes, atomic = kind & RaceMark::atomic;
  const bool mark_writes = mark.kind & RaceMark::writes, mark_atomic = mark.kind & RaceMark::atomic;
  const std::uint64_t address = base + static_cast<unsigned>(std::countr_zero(bytes));
  if (writes && mark_writes && !atomic && !mark_atomic) {
    bool equal = data && !(mark.kind & RaceMark::unknown_value);
    for (unsigned b = 0; equal && b < RaceGranule::size; ++b)
      if (bytes >> b & 1) equal = data[b - from] == granule.value[b];
    if (!equal) fail(mark, base, bytes);
  } else if (!writes) {
    // A load meets a store (an atomic one where the load is plain).
    if (atomic ? marks_stores(mark) : !code_.synchronises(actor_.slot)) fail(mark, base, bytes);
    kind |= RaceMark::atomic;
    if (mark_atomic) acquire(address);
    else acquire_from(mark);
  } else if (atomic) {
    // An atomic meets a plain load or store.
    if (mark_writes ? !code_.polls(actor_.slot) : !code_.synchronises(mark.slot)) fail(mark, base, bytes);
    if (mark_writes) acquire_from(mark);
  } else {
    // A plain store meets a load or an atomic.
    const bool flag = mark_atomic && !mark_writes && !marks_stores(mark);
    const bool lock =
        mark_atomic && !marks_stores(mark) && (code_.polls(mark.slot) || atomics().has(address, number_, actor_.wave));
    if (!flag && !lock && !(!mark_atomic && code_.synchronises(mark.slot))) fail(mark, base, bytes);
    become_atomic(kind, address);
  }
}

// gfx9 before gfx940, gfx11 and the LDS have no mark on an atomic store; nor have others between waves of a group.
bool RaceCheck::marks_stores(const RaceMark& mark) const {
  const Arch arch = group_.waves[0].arch;
  return space_ == Space::global && mark.group != number_ &&
         (arch == Arch::gfx942 || arch == Arch::gfx950 || contains(gfx12, arch));
}

void RaceCheck::become_atomic(std::uint8_t& kind, std::uint64_t address) {
  kind |= RaceMark::atomic;
  atomics().add(address, clocks_[actor_.wave].release());
}

void RaceCheck::acquire_from(const RaceMark& mark) {
  for (std::uint32_t waves = mark.waves; waves != 0; waves &= waves - 1) {
    const auto wave = static_cast<unsigned>(std::countr_zero(waves));
    Release release = launch_.release_at(mark.group, wave, mark.clock);
    if (mark.group == number_) release.known = clocks_[wave].known();
    if (clocks_[actor_.wave].acquire({&release, 1}, nullptr)) learned();
  }
}

void RaceCheck::acquire(std::uint64_t address) {
  if (atomics().acquire(address, clocks_[actor_.wave])) learned();
}

void RaceCheck::learned() {
  actor_.clock = clocks_[actor_.wave].now();
  launch_.publish(number_, 0, clocks_[actor_.wave].known());
}

void RaceCheck::fail(const RaceMark& mark, std::uint64_t base, std::uint16_t bytes) const {
  const std::uint64_t address = base + static_cast<unsigned>(std::countr_zero(bytes));
  const auto verb = [](std::uint8_t kind) {
    const bool writes = kind & RaceMark::writes;
    return kind & RaceMark::atomic ? (writes ? "atomic" : "atomic load") : writes ? "store" : "load";
  };
  std::optional<unsigned> lane;
  for_lanes(access_->lanes, [&](unsigned l) {
    if (!lane && address - access_->at[l] < access_->bytes) lane = l;
  });
  const std::uint32_t others = mark.group == number_ ? mark.waves & ~actor_.bit : mark.waves;
  std::string who = "wave " + std::to_string(std::countr_zero(others));
  if (mark.group != number_) {
    const auto id = launch_.group_id(mark.group);
    who +=
        " of workgroup (" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " + std::to_string(id[2]) + ")";
  }
  char place[48];
  const bool lds = space_ == Space::lds;
  const std::uint64_t shown = lds ? address - reinterpret_cast<std::uint64_t>(group_.lds.data()) : address;
  std::snprintf(place, sizeof place, lds ? "LDS byte %llu" : "address 0x%llx", static_cast<unsigned long long>(shown));
  char offset[24];
  std::snprintf(offset, sizeof offset, "%x", mark.slot * 4);
  report(std::string("data race at ") + place + ": " + verb(actor_.kind) + " by wave " + std::to_string(actor_.wave) +
             " (" + code_.text(actor_.slot) + ") and " + verb(mark.kind) + " by " + who + " (" + code_.text(mark.slot) +
             ", at text+0x" + offset + ") with nothing that orders them",
         lane, shown);
}

// gfx12's halves: what comes before a signal is known after the wait.
void RaceCheck::barrier(unsigned wave, std::string_view name) {
  BarrierState& state = barrier_[wave];
  state.waits = name == "s_barrier" || name == "s_barrier_wait";
  if (name != "s_barrier_wait") {
    state.arrived = clocks_[wave].release();
    state.signalled = true;
    state.accessed = state.passed = false;
  }
  if (group_.barrier.phase != phase_) complete_phase();
  else if (name == "s_barrier_wait" && !state.signalled && !state.passed) pass(wave, launch_.stamps.next());
}

void RaceCheck::complete_phase() {
  phase_ = group_.barrier.phase;
  const Stamp now = launch_.stamps.next();
  phase_releases_.clear();
  for (unsigned q = 0; q < barrier_.size(); ++q) {
    BarrierState& state = barrier_[q];
    if (state.signalled) phase_releases_.push_back(state.arrived);
    phase_clocks_[q] = state.signalled && state.accessed ? state.arrived.clock : now - 1;
    state.signalled = false;
  }
  for (unsigned q = 0; q < barrier_.size(); ++q)
    if (barrier_[q].waits && !barrier_[q].passed) pass(q, now);
  launch_.publish(number_, now, nullptr);
}

void RaceCheck::pass(unsigned wave, Stamp now) {
  clocks_[wave].pass_barrier(phase_clocks_, static_cast<unsigned>(barrier_.size()), phase_releases_, now);
  barrier_[wave].passed = true;
}

std::unique_ptr<Check> make_race_check(Workgroup& group, RaceLaunch& launch) {
  return std::make_unique<RaceCheck>(group, launch);
}

}  // namespace rapt::sim
