#include "sim/check/races/sync.hpp"

namespace rapt::sim {

SyncTable::Bucket& SyncTable::bucket(std::uint64_t location) {
  std::call_once(made_, [this] { buckets_ = std::make_unique<Bucket[]>(count_); });
  return buckets_[(location ^ location >> 17) & (count_ - 1)];
}

void SyncTable::add(std::uint64_t address, const Release& release) {
  Bucket& b = bucket(location(address));
  const std::lock_guard lock(b.lock);
  for (Record& r : b.recent) {
    if (r.location != location(address) || r.release.group != release.group || r.release.wave != release.wave) continue;
    r.release = release;
    return;
  }
  if (b.recent.size() == recent_limit) {
    std::vector<const Known*> parts{b.older.get()};
    std::vector<Known::Entry> entries;
    for (const Record& r : b.recent) {
      entries.push_back({Known::key(r.release.group, r.release.wave), r.release.clock});
      entries.push_back({Known::key(r.release.group, Known::every_wave), r.release.group_floor});
      parts.push_back(r.release.known.get());
    }
    b.older = merge(parts, std::move(entries));
    b.recent.clear();
  }
  b.recent.push_back({location(address), release});
}

bool SyncTable::acquire(std::uint64_t address, WaveClock& clock) {
  std::vector<Release> releases;
  std::shared_ptr<const Known> older;
  {
    Bucket& b = bucket(location(address));
    const std::lock_guard lock(b.lock);
    for (const Record& r : b.recent)
      if (r.location == location(address) && !clock.knows(r.release.group, 1U << r.release.wave, r.release.clock))
        releases.push_back(r.release);
    older = b.older;
  }
  return (!releases.empty() || older) && clock.acquire(releases, older.get());
}

bool SyncTable::has(std::uint64_t address, std::uint32_t group, unsigned wave) {
  Bucket& b = bucket(location(address));
  const std::lock_guard lock(b.lock);
  for (const Record& r : b.recent)
    if (r.location == location(address) && r.release.group == group && r.release.wave == wave) return true;
  return b.older && b.older->of(group, wave) != 0;
}

}  // namespace rapt::sim
