// Data races: two waves access the same bytes, one of them stores, not both are atomic, and nothing orders them.
// Barriers order the waves of a workgroup. Atomics on one location order any two waves: the later atomic's wave comes
// after the earlier one's. The start and the end of a launch order everything. Two plain stores of equal bytes are not
// reported: code that sets a flag or a value from every wave is common, and correct on this hardware. Nor are loads of
// such bytes of global memory by a workgroup that has stored them itself: they have one value from its own store on.
#pragma once

#include "sim/check/checks.hpp"
#include "sim/check/races/code.hpp"
#include "sim/check/races/lanes.hpp"
#include "sim/check/races/launch.hpp"

#include <unordered_map>

namespace rapt::sim {

class RaceCheck final : public Observer {
 public:
  RaceCheck(Workgroup& group, RaceLaunch& launch);

  void before(Wave& wave, const Entry& entry) override;
  void after(Wave& wave, const Entry& entry) override;
  void access(Wave& wave, const Instruction& i, const Access& access) override;

 private:
  // The current access.
  struct Actor {
    unsigned wave = 0;
    std::uint32_t bit = 0, slot = 0;
    std::uint8_t kind = 0, stored_kind = 0;  // the latter with knowledge of the value
    Stamp clock = 0, floor = 0;
  };
  // The position of a granule.
  struct Place {
    RaceShadow& shadow;
    std::size_t index;   // in the shadow
    std::uint64_t base;  // its address
  };
  struct BarrierState {
    Release arrived;
    bool signalled = false;  // in the phase that is not complete yet
    bool accessed = false;   // memory, since it signalled
    bool waits = false;
    bool passed = true;  // has acquired what the last complete phase released
  };
  class HeldPage;
  class Quick;

  void touch_access(const Wave& wave, const Instruction& i, const Access& access);
  void find_stored_rows(const Wave& wave, const Instruction& i, const Access& access);
  void touch_lds();
  void touch_lds_granules(const RaceLanes& lanes);
  void touch_global();
  void touch_page(RaceShadow& shadow, std::uint64_t origin, std::uint64_t begin, std::uint64_t end, const RaceRun& run);
  void touch_loaded(const Place& place, std::uint16_t bytes);
  bool join(RaceMark& mark, std::uint16_t bytes, std::uint8_t kind) const;
  void touch(const Place& place, std::uint16_t bytes, const RaceRun& run);
  RacePage& locked_page(std::uint64_t number);
  // What the run's lanes store, one after the other; none if it is not known.
  const unsigned char* stored_data(const RaceRun& run);

  void conflict(const Place& place, const RaceMark& mark, std::uint16_t bytes, const RaceRun& run, std::uint8_t& kind);
  bool stores_equal(const Place& place, const RaceMark& mark, std::uint16_t bytes, const RaceRun& run);
  // Whether the current store writes what another group's store wrote, with nothing that orders the two.
  bool repeats(const Place& place, std::uint16_t bytes, const RaceRun& run);
  // Whether this group's stores have repeated these bytes before the current load.
  bool repeated_before(const Place& place, std::uint16_t bytes) const;
  [[noreturn]] void fail(const RaceMark& mark, std::uint64_t base, std::uint16_t bytes) const;
  bool marks_stores(const RaceMark& mark) const;
  void become_atomic(std::uint8_t& kind, std::uint64_t address);
  // A store that is not marked as atomic turns out to be atomic.
  void acquire_from(const RaceMark& mark);
  void acquire(std::uint64_t address);
  void learned();

  void barrier(unsigned wave, std::string_view name);
  void complete_phase();
  void pass(unsigned wave, Stamp now);

  SyncTable& atomics() { return space_ == Space::lds ? lds_atomics_ : launch_.atomics; }

  Workgroup& group_;
  RaceLaunch& launch_;
  mutable RaceCode code_;
  std::uint32_t number_;
  std::vector<WaveClock> clocks_;
  RaceShadow lds_;
  SyncTable lds_atomics_{256};

  // The current instruction:
  const Entry* entry_ = nullptr;
  Actor actor_;
  Space space_ = Space::global;
  const Access* access_ = nullptr;
  unsigned stored_dwords_ = 0;
  const std::uint32_t* stored_rows_ = nullptr;  // none if what is stored is not known
  unsigned stored_shift_ = 0;                   // of a narrow store's data in its register
  unsigned lanes_ = 64;                         // of the wave
  std::vector<std::pair<Space, std::uint64_t>> to_acquire_;
  bool repeats_ = false;  // the current store, in the current granule
  struct Later {
    Access access;
    std::array<std::uint64_t, 64> at;
  };
  std::vector<Later> later_;
  std::array<unsigned char, 64 * 16> data_;
  unsigned data_first_lane_ = 64;  // of the run whose data are cached; 64: none

  std::array<RacePage*, 64> pages_{};
  std::unordered_map<std::uint64_t, RaceMark> repeated_;  // by the granule's address: the group's repeating stores

  std::uint64_t phase_ = 0;
  std::vector<BarrierState> barrier_;
  std::array<Stamp, WaveClock::max_waves> phase_clocks_{};
  std::vector<Release> phase_releases_;
};

}  // namespace rapt::sim
