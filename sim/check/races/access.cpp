// Checks an access of a wave against the recorded accesses of the same memory, and records it. Most accesses only need
// sixteen bytes of shadow for sixteen bytes of memory. They repeat an earlier access, the same instruction of another
// wave has loaded the memory, or no other wave has used it since the last barrier.
#include "sim/check/races/races.hpp"

namespace rapt::sim {
namespace {

constexpr unsigned size = RaceGranule::size;

constexpr std::uint16_t byte_mask(unsigned from, unsigned to) {
  return static_cast<std::uint16_t>((1U << to) - (1U << from));
}

}  // namespace

// The current page of the access; locked until the access moves to another.
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
  lanes_ = wave.lanes;
  find_stored_rows(wave, i, access);
  const bool unknown = access.action != Action::load && !stored_rows_;
  actor_.stored_kind = static_cast<std::uint8_t>(actor_.kind | (unknown ? RaceMark::unknown_value : 0));
  if (space_ == Space::lds) touch_lds();
  else touch_global();
  if (access.action == Action::store) stored_dwords_ += (access.bytes + 3) / 4;
}

void RaceCheck::find_stored_rows(const Wave& wave, const Instruction& i, const Access& access) {
  stored_rows_ = nullptr;
  if (access.action != Action::store || !entry_->races.stores_registers) return;
  if (entry_->effects.unit == Unit::smem) {  // one lane of consecutive registers
    stored_rows_ = &wave.sgpr[i.src[2].index];
    stored_shift_ = 0;
    lanes_ = 1;
    return;
  }
  const unsigned first_dwords = std::max<unsigned>(1, i.src[1].dwords);
  const bool second = entry_->effects.unit == Unit::lds && stored_dwords_ >= first_dwords;
  const Operand& o = i.src[second ? 2 : 1];
  if (o.kind != OperandKind::vgpr && o.kind != OperandKind::agpr) return;
  const unsigned row = o.index + stored_dwords_ - (second ? first_dwords : 0);
  stored_rows_ = wave.vgpr + std::size_t{row + (o.kind == OperandKind::agpr ? wave.first_agpr : 0)} * wave.lanes;
  stored_shift_ = access.bytes < 4 && (o.high || entry_->races.upper_half) ? 16 : 0;
}

const unsigned char* RaceCheck::stored_data(const RaceRun& run) {
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

// A granule that is checked the quick way.
class RaceCheck::Quick {
 public:
  explicit Quick(const Actor& actor)
      : when_(RaceGranule::moment(actor.clock, actor.slot)),
        floor_(actor.floor),
        bit_(actor.bit),
        kind_(actor.kind),
        stored_kind_(actor.stored_kind) {
    const bool stores = (kind_ & RaceMark::writes) != 0;
    compared_ = RaceGranule::What{0xffff, 0xff, stores ? RaceGranule::any : RaceGranule::writers}.bits();
    forbidden_waves_ = stores ? ~bit_ : 0;
  }

  // The same bytes again, or bytes without a recorded access.
  template <Space S>
  bool touch(RaceGranule& g, std::uint16_t bytes) const {
    const std::uint32_t same = RaceGranule::What{bytes, kind_, 0}.bits();
    if (g.when == when_ && (g.what.bits() & compared_) == same && (g.waves & forbidden_waves_) == 0) {
      g.waves |= bit_;
      return true;
    }
    // Only the group sees the LDS, and all waves have passed a barrier since.
    const bool free =
        S == Space::lds ? g.clock() <= floor_ && (g.what.others & RaceGranule::newer) == 0 : g.what.bytes == 0;
    if (!free || (kind_ & RaceMark::atomic) != 0) return false;
    renew(g, bytes);
    return true;
  }
  // More bytes of this wave by this instruction, or bytes that this wave accessed last: what races with its older
  // access also races with this one.
  bool touch_own(RaceGranule& g, std::uint16_t bytes) const {
    if (g.waves != bit_ || g.what.others != 0) return false;
    if (g.when == when_ && g.what.kind == kind_) {
      g.what.bytes |= bytes;
      return true;
    }
    const bool stores = (kind_ & RaceMark::writes) != 0;
    if ((g.what.bytes & ~bytes) != 0 || (kind_ & RaceMark::atomic) != 0 || (g.what.kind & RaceMark::atomic) != 0 ||
        (!stores && g.what.kind != 0))
      return false;
    renew(g, bytes);
    return true;
  }

 private:
  void renew(RaceGranule& g, std::uint16_t bytes) const { g = {when_, bit_, {bytes, stored_kind_, 0}}; }

  std::uint64_t when_;
  Stamp floor_;
  std::uint32_t bit_;
  std::uint8_t kind_, stored_kind_;
  std::uint32_t compared_, forbidden_waves_;  // a store is only merged with accesses of its own wave
};

void RaceCheck::touch_lds() {
  const auto memory = reinterpret_cast<std::uint64_t>(group_.lds.data());
  RaceLanes lanes(*access_);
  if (access_->action == Action::load) lanes.join_halves(lanes_, size);
  if (memory % size == 0 && lanes.are_pieces(size)) return touch_lds_granules(lanes);
  for (std::uint64_t rest = lanes.lanes(); rest != 0;) {
    const RaceRun run = lanes.take_run(rest, access_->action != Action::load);
    data_first_lane_ = 64;
    Quick quick(actor_);
    for (std::uint64_t at = run.begin - memory, end = run.end - memory; at < end;) {
      const std::uint64_t index = at / size, next = std::min(end, (index + 1) * size);
      const std::uint16_t bytes = byte_mask(at % size, static_cast<unsigned>(next - index * size));
      at = next;
      RaceGranule& granule = lds_.granules()[index];
      if (quick.touch<Space::lds>(granule, bytes) || quick.touch_own(granule, bytes)) continue;
      touch({lds_, index, memory + index * size}, bytes, run);
      quick = Quick(actor_);
    }
  }
}

// One whole granule per lane.
void RaceCheck::touch_lds_granules(const RaceLanes& lanes) {
  const auto memory = reinterpret_cast<std::uint64_t>(group_.lds.data());
  RaceGranule* const granules = lds_.granules();
  for (std::uint64_t rest = lanes.lanes(); rest != 0;) {
    const Quick quick(actor_);
    unsigned lane = 0;
    std::uint64_t index = 0;
    bool quickly = true;
    for (; quickly && rest != 0; rest &= rest - 1) {
      lane = static_cast<unsigned>(std::countr_zero(rest));
      index = (lanes.at(lane) - memory) / size;
      quickly = quick.touch<Space::lds>(granules[index], 0xffff);
    }
    if (quickly) return;
    const std::uint64_t address = lanes.at(lane);
    data_first_lane_ = 64;
    touch({lds_, index, address}, 0xffff, {address, address + size, lane, lane + 1});
  }
}

void RaceCheck::touch_global() {
  const RaceLanes lanes(*access_);
  HeldPage held(*this);
  for (std::uint64_t rest = lanes.lanes(); rest != 0;) {
    const RaceRun run = lanes.take_run(rest, access_->action != Action::load);
    data_first_lane_ = 64;
    for (std::uint64_t at = run.begin; at < run.end;) {
      const std::uint64_t number = at / RacePage::size, origin = number * RacePage::size;
      const std::uint64_t end = std::min(run.end, origin + RacePage::size);
      RacePage& page = held.at(number);
      touch_page(page.shadow, origin, at, end, run);
      if (stored_rows_)
        std::memcpy(page.shadow.values() + (at - origin), stored_data(run) + (at - run.begin), end - at);
      at = end;
    }
  }
}

// Bytes of a run in the page at `origin`.
void RaceCheck::touch_page(RaceShadow& shadow, std::uint64_t origin, std::uint64_t begin, std::uint64_t end,
                           const RaceRun& run) {
  RaceGranule* const granules = shadow.granules();
  std::uint32_t* const groups = shadow.groups();
  Quick quick(actor_);
  for (std::uint64_t at = begin - origin, to = end - origin; at < to;) {
    const std::uint64_t index = at / size, next = std::min(to, (index + 1) * size);
    const std::uint16_t bytes = byte_mask(at % size, static_cast<unsigned>(next - index * size));
    at = next;
    RaceGranule& granule = granules[index];
    if (quick.touch<Space::global>(granule, bytes) || (groups[index] == number_ && quick.touch_own(granule, bytes))) {
      groups[index] = number_;
      continue;
    }
    touch({shadow, index, origin + index * size}, bytes, run);
    quick = Quick(actor_);
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

}  // namespace rapt::sim
