// The order of accesses: small vector clocks, similar to FastTrack (Flanagan and Freund, PLDI 2009). A wave's clock is
// a stamp from one counter of the launch, so that stamps of different waves can be compared. If a vector grows too
// long, its oldest part becomes one number, and races with accesses of that age are no longer found.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rapt::sim {

using Stamp = std::uint32_t;

// The launch's counter. It saturates, and then nothing is reported any more.
class StampSource {
 public:
  Stamp next() {
    const Stamp stamp = last_.fetch_add(1, std::memory_order_relaxed);
    if (stamp < ~Stamp{0} - 65536) [[likely]]
      return stamp + 1;
    last_.store(~Stamp{0} - 65536, std::memory_order_relaxed);
    return stamp;
  }

 private:
  std::atomic<Stamp> last_{0};
};

// What is known of other waves' past through atomics. Immutable once it is shared.
struct Known {
  static constexpr unsigned every_wave = 63;  // in place of a wave: what is known of all waves of the group
  static constexpr std::size_t limit = 1024;
  struct Entry {
    std::uint64_t key;  // group * 64 + wave
    Stamp clock;
  };
  static constexpr std::uint64_t key(std::uint32_t group, unsigned wave) { return std::uint64_t{group} << 6 | wave; }

  Stamp floor = 0;             // every wave's past up to here
  std::vector<Entry> entries;  // sorted by key

  Stamp of(std::uint32_t group, unsigned wave) const;
};

// What a wave releases with an atomic: its own past and all that it knows.
struct Release {
  std::uint32_t group = 0;
  unsigned wave = 0;
  Stamp clock = 0, group_floor = 0;  // its own past; its group's, known through barriers
  std::shared_ptr<const Known> known;
};

class WaveClock {
 public:
  static constexpr unsigned max_waves = 32;

  WaveClock(StampSource& stamps, std::uint32_t group, unsigned wave)
      : stamps_(&stamps), group_(group), wave_(wave), clock_(stamps.next()) {}

  // The stamp of an access that happens now.
  Stamp now() {
    if (released_) clock_ = stamps_->next(), released_ = false;
    return clock_;
  }
  Stamp clock() const { return clock_; }
  // What the wave knows of its whole group.
  Stamp group_floor() const { return group_floor_; }
  const std::shared_ptr<const Known>& known() const { return known_; }

  // Whether accesses of these waves of a group with that stamp happen before what this wave does now.
  bool knows(std::uint32_t group, std::uint32_t waves, Stamp clock) const {
    if (known_ && clock <= known_->floor) return true;
    return group == group_ ? knows_own(waves, clock) : known_ && knows_other(group, waves, clock);
  }

  Release release() {
    released_ = true;
    return {group_, wave_, clock_, group_floor_, known_};
  }
  // Later accesses get a later stamp.
  void end_epoch() { released_ = true; }
  // True where something new was learned.
  bool acquire(std::span<const Release> releases, const Known* more);
  // A barrier: what the group's waves knew of each other when they came to it, and of other groups.
  void pass_barrier(const std::array<Stamp, max_waves>& waves, unsigned count, std::span<const Release> arrived,
                    Stamp now);

 private:
  bool knows_own(std::uint32_t waves, Stamp clock) const {
    for (waves &= ~(1U << wave_); waves != 0; waves &= waves - 1)
      if (clock > own_[static_cast<unsigned>(__builtin_ctz(waves))]) return false;
    return true;
  }
  bool knows_other(std::uint32_t group, std::uint32_t waves, Stamp clock) const {
    for (; waves != 0; waves &= waves - 1)
      if (clock > known_->of(group, static_cast<unsigned>(__builtin_ctz(waves)))) return false;
    return true;
  }

  StampSource* stamps_;
  std::uint32_t group_;
  unsigned wave_;
  Stamp clock_;
  bool released_ = false;
  Stamp group_floor_ = 0;
  std::array<Stamp, max_waves> own_{};
  std::shared_ptr<const Known> known_;
};

// Merges several vectors' entries; if there are too many, the oldest ones become the floor.
std::shared_ptr<const Known> merge(std::span<const Known* const> parts, std::vector<Known::Entry> more);

}  // namespace rapt::sim
