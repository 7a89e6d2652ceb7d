// An access of a wave, held against what is remembered of the memory that it touches, which it then joins. Most
// accesses are of the kind that needs a look at sixteen bytes of shadow for sixteen bytes of memory: those where nobody
// else was since the last barrier, repeated ones, and loads of what others have loaded by the same instruction.
#include "sim/check/races.hpp"

namespace rapt::sim {
namespace {

constexpr unsigned size = RaceGranule::size;

constexpr std::uint16_t byte_mask(unsigned from, unsigned to) {
  return static_cast<std::uint16_t>((1U << to) - (1U << from));
}

}  // namespace

// The page that the access is at; locked until it leaves it.
class RaceCheck::HeldPage {
 public:
  explicit HeldPage(RaceCheck& check) : check_(check) {}
  ~HeldPage() { let_go(); }
  HeldPage(const HeldPage&) = delete;
  HeldPage& operator=(const HeldPage&) = delete;

  RacePage& at(std::uint64_t number) {
    if (page_ && page_->number == number) return *page_;
    let_go();
    page_ = &check_.locked_page(number);
    return *page_;
  }

 private:
  void let_go() {
    if (page_) page_->lock.unlock();
    page_ = nullptr;
  }
  RaceCheck& check_;
  RacePage* page_ = nullptr;
};

void RaceCheck::touch_access(const Wave& wave, const Instruction& i, const Access& access) {
  access_ = &access;
  actor_.clock = clocks_[wave.index].now();
  find_stored_rows(wave, i, access);
  if (space_ == Space::lds) touch_runs<Space::lds>();
  else touch_runs<Space::global>();
  if (access.action == Action::store) stored_dwords_ += (access.bytes + 3) / 4;
}

void RaceCheck::find_stored_rows(const Wave& wave, const Instruction& i, const Access& access) {
  stored_rows_ = nullptr;
  if (access.action != Action::store || !entry_->races.stores_registers) return;
  const unsigned first_dwords = std::max<unsigned>(1, i.src[1].dwords);
  const bool second = entry_->effects.unit == Unit::lds && stored_dwords_ >= first_dwords;
  const Operand& o = i.src[second ? 2 : 1];
  if (o.kind != OperandKind::vgpr && o.kind != OperandKind::agpr) return;
  const unsigned row = o.index + stored_dwords_ - (second ? first_dwords : 0);
  stored_rows_ = wave.vgpr + std::size_t{row + (o.kind == OperandKind::agpr ? Wave::agpr_row : 0)} * wave.lanes;
  stored_shift_ = access.bytes < 4 && (o.high || entry_->races.upper_half) ? 16 : 0;
  lanes_ = wave.lanes;
}

const unsigned char* RaceCheck::stored_data(const Run& run) {
  if (!stored_rows_ || data_first_lane_ == run.first_lane) return stored_rows_ ? data_.data() : nullptr;
  data_first_lane_ = run.first_lane;
  const unsigned bytes = access_->bytes;
  unsigned char* to = data_.data();
  if (bytes < 4) {
    for (unsigned lane = run.first_lane; lane < run.end_lane; ++lane, to += bytes) {
      const std::uint32_t value = stored_rows_[lane] >> stored_shift_;
      std::memcpy(to, &value, bytes);
    }
  } else {
    for (unsigned lane = run.first_lane; lane < run.end_lane; ++lane)
      for (unsigned d = 0; d < bytes / 4; ++d, to += 4) std::memcpy(to, &stored_rows_[d * lanes_ + lane], 4);
  }
  return data_.data();
}

template <Space S>
void RaceCheck::touch_runs() {
  const Access& access = *access_;
  const bool stores = access.action != Action::load;
  HeldPage page(*this);
  for (std::uint64_t rest = access.lanes; rest != 0;) {
    const auto first = static_cast<unsigned>(std::countr_zero(rest));
    Run run{access.at[first], access.at[first] + access.bytes, first, 0};
    unsigned lane = first + 1;
    for (; lane < 64 && (rest >> lane & 1) != 0; ++lane) {
      if (access.at[lane] == run.end) run.end += access.bytes;
      else if (stores || access.at[lane] != access.at[lane - 1]) break;
    }
    run.end_lane = lane;
    rest = lane == 64 ? 0 : rest >> lane << lane;
    data_first_lane_ = 64;
    if constexpr (S == Space::lds) {
      const auto memory = reinterpret_cast<std::uint64_t>(group_.lds.data());
      touch_granules<S>(lds_, memory, run.begin, run.end, run);
    } else {
      touch_global(run, page);
    }
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

void RaceCheck::touch_global(const Run& run, HeldPage& held) {
  for (std::uint64_t at = run.begin; at < run.end;) {
    const std::uint64_t number = at / RacePage::size, origin = number * RacePage::size;
    const std::uint64_t end = std::min(run.end, origin + RacePage::size);
    RacePage& page = held.at(number);
    touch_granules<Space::global>(page.shadow, origin, at, end, run);
    if (stored_rows_) std::memcpy(page.shadow.values() + (at - origin), stored_data(run) + (at - run.begin), end - at);
    at = end;
  }
}

// Bytes of a run in the shadow of the memory from `origin` on.
template <Space S>
void RaceCheck::touch_granules(RaceShadow& shadow, std::uint64_t origin, std::uint64_t begin, std::uint64_t end,
                               const Run& run) {
  RaceGranule* const granules = shadow.granules();
  std::uint32_t* const groups = shadow.groups();
  for (std::uint64_t at = begin - origin, to = end - origin; at < to;) {
    const std::uint64_t index = at / size, next = std::min(to, (index + 1) * size);
    const std::uint16_t bytes = byte_mask(at % size, static_cast<unsigned>(next - index * size));
    if (!touch_quickly<S>(granules[index], groups + (S == Space::global ? index : 0), bytes))
      touch({shadow, index, origin + index * size}, bytes, run);
    at = next;
  }
}

// False where it takes a closer look.
template <Space S>
bool RaceCheck::touch_quickly(RaceGranule& g, std::uint32_t* group, std::uint16_t bytes) const {
  if (actor_.kind & RaceMark::atomic) return false;
  const bool stores = (actor_.kind & RaceMark::writes) != 0;
  const bool own = g.waves == actor_.bit;
  // Once more by this instruction: by this wave, or of the same bytes by others too.
  if (g.clock == actor_.clock && g.slot == actor_.slot && g.kind == actor_.kind &&
      (stores ? g.others == 0 : (g.others & RaceGranule::writers) == 0) && (own || (!stores && g.bytes == bytes))) {
    g.waves |= actor_.bit;
    g.bytes |= bytes;
    return true;
  }
  bool free = false;
  if constexpr (S == Space::lds) {
    // Nobody else sees the LDS, and all waves have passed a barrier since.
    free = g.clock <= actor_.floor && (g.others & RaceGranule::newer) == 0;
  } else {
    free = g.bytes == 0;
  }
  // Whoever races with this wave's older access races with this one too.
  if (!free && g.others == 0 && own && (g.bytes & ~bytes) == 0 && (S == Space::lds || *group == number_))
    free = stores ? (g.kind & RaceMark::atomic) == 0 : g.kind == 0;
  if (!free) return false;
  const bool unknown = stores && !stored_rows_;
  g = {actor_.clock,
       actor_.slot,
       actor_.bit,
       bytes,
       static_cast<std::uint8_t>(actor_.kind | (unknown ? RaceMark::unknown_value : 0)),
       0};
  if constexpr (S == Space::global) *group = number_;
  return true;
}

// Against every access that is remembered.
void RaceCheck::touch(const Place& at, std::uint16_t bytes, const Run& run) {
  RaceGranule& g = at.shadow.granules()[at.index];
  std::uint32_t* const groups = at.shadow.groups();
  RaceMark latest{g.clock, groups ? groups[at.index] : number_, g.waves, g.slot, g.bytes, g.kind};
  RaceOthers* others = g.others != 0 ? &at.shadow.others(at.index) : nullptr;
  std::uint8_t kind = actor_.kind;
  const bool writes = kind & RaceMark::writes;
  RaceMark* place = nullptr;
  bool recorded = false;
  const auto look = [&](RaceMark& mark) {
    if (mark.bytes == 0) {
      if (!place) place = &mark;
      return;
    }
    const bool own = mark.group == number_;
    if (own && mark.slot == actor_.slot && mark.clock == actor_.clock && mark.kind == kind &&
        (mark.waves == actor_.bit || (!writes && mark.bytes == bytes))) {
      if (mark.waves == actor_.bit) mark.bytes |= bytes;
      else mark.waves |= actor_.bit;
      recorded = true;
      return;
    }
    const auto both = static_cast<std::uint16_t>(mark.bytes & bytes);
    const bool ordered = (own && (mark.waves == actor_.bit || mark.clock <= actor_.floor)) ||
                         clocks_[actor_.wave].knows(mark.group, mark.waves, mark.clock);
    if (ordered) {
      // A lock that the wave took since the last barrier is let go.
      if (both != 0 && writes && mark.kind & RaceMark::atomic && own && mark.waves == actor_.bit &&
          mark.clock > actor_.floor && !marks_stores(mark) && !(kind & RaceMark::atomic))
        become_atomic(kind, at.base + static_cast<unsigned>(std::countr_zero(both)));
      // Whoever races with the older one races with this one too.
      if (writes || !(mark.kind & RaceMark::writes)) mark.bytes = static_cast<std::uint16_t>(mark.bytes & ~both);
      // Nobody else sees the LDS, and all waves have passed the barrier after that access.
      if (space_ == Space::lds && mark.clock <= actor_.floor) mark.bytes = 0;
      if (mark.bytes == 0 && !place) place = &mark;
    } else if (both != 0 && (writes || mark.kind & RaceMark::writes) && !(kind & mark.kind & RaceMark::atomic)) {
      conflict(at, mark, bytes & mark.bytes, run, kind);
    }
  };
  look(latest);
  if (others)
    for (RaceMark& mark : *others) look(mark);
  if (!recorded) {
    if (!place && !others) {
      others = &at.shadow.others(at.index);
      *others = {};
      place = others->data();
    } else if (!place) {
      place = &latest;
      for (RaceMark& mark : *others) {
        const bool a = mark.kind & RaceMark::writes, b = place->kind & RaceMark::writes;
        if (a != b ? b : mark.clock < place->clock) place = &mark;
      }
    }
    const bool unknown = writes && !stored_rows_;
    if (place != &latest) *place = latest;
    latest = {actor_.clock, number_, actor_.bit,
              actor_.slot,  bytes,   static_cast<std::uint8_t>(kind | (unknown ? RaceMark::unknown_value : 0))};
  }
  g = {latest.clock, latest.slot, latest.waves, latest.bytes, latest.kind, 0};
  if (groups) groups[at.index] = latest.group;
  if (!others) return;
  for (const RaceMark& mark : *others) {
    if (mark.bytes == 0) continue;
    g.others |= (mark.kind & (RaceMark::writes | RaceMark::atomic)) != 0 ? RaceGranule::writers : RaceGranule::loads;
    if (mark.clock > g.clock) g.others |= RaceGranule::newer;
  }
}

}  // namespace rapt::sim
