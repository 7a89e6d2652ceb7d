#include "sim/check/races/clock.hpp"

#include <algorithm>

namespace rapt::sim {

Stamp Known::of(std::uint32_t group, unsigned wave) const {
  auto at = std::lower_bound(entries.begin(), entries.end(), key(group, 0),
                             [](const Entry& e, std::uint64_t k) { return e.key < k; });
  Stamp stamp = floor;
  for (; at != entries.end() && at->key >> 6 == group; ++at)
    if ((at->key & 63) == wave || (at->key & 63) == every_wave) stamp = std::max(stamp, at->clock);
  return stamp;
}

std::shared_ptr<const Known> merge(std::span<const Known* const> parts, std::vector<Known::Entry> entries) {
  auto result = std::make_shared<Known>();
  for (const Known* part : parts) {
    if (!part) continue;
    result->floor = std::max(result->floor, part->floor);
    entries.insert(entries.end(), part->entries.begin(), part->entries.end());
  }
  std::sort(entries.begin(), entries.end(), [](const Known::Entry& a, const Known::Entry& b) {
    return a.key != b.key ? a.key < b.key : a.clock > b.clock;
  });
  entries.erase(std::unique(entries.begin(), entries.end(),
                            [](const Known::Entry& a, const Known::Entry& b) { return a.key == b.key; }),
                entries.end());
  if (entries.size() > Known::limit) {
    std::vector<Stamp> stamps;
    for (const Known::Entry& e : entries) stamps.push_back(e.clock);
    const auto middle = stamps.begin() + static_cast<std::ptrdiff_t>(stamps.size() / 2);
    std::nth_element(stamps.begin(), middle, stamps.end());
    result->floor = std::max(result->floor, *middle);
  }
  std::erase_if(entries, [&](const Known::Entry& e) { return e.clock <= result->floor; });
  result->entries = std::move(entries);
  return result;
}

bool WaveClock::acquire(std::span<const Release> releases, const Known* more) {
  std::vector<const Known*> parts;
  std::vector<Known::Entry> entries;
  for (const Release& r : releases) {
    if (r.group == group_ && r.wave == wave_) continue;
    if (knows(r.group, 1U << r.wave, r.clock)) continue;
    entries.push_back({Known::key(r.group, r.wave), r.clock});
    if (r.group != group_ && r.group_floor != 0)
      entries.push_back({Known::key(r.group, Known::every_wave), r.group_floor});
    if (r.known) parts.push_back(r.known.get());
  }
  if (more && !std::all_of(more->entries.begin(), more->entries.end(), [this](const Known::Entry& e) {
        return known_ && e.clock <= known_->of(static_cast<std::uint32_t>(e.key >> 6), e.key & 63);
      }))
    parts.push_back(more);
  if (entries.empty() && parts.empty()) return false;
  parts.push_back(known_.get());
  known_ = merge(parts, std::move(entries));
  for (const Known::Entry& e : known_->entries)
    if (e.key >> 6 == group_ && (e.key & 63) < max_waves) own_[e.key & 63] = std::max(own_[e.key & 63], e.clock);
  clock_ = stamps_->next();
  released_ = false;
  return true;
}

void WaveClock::pass_barrier(const std::array<Stamp, max_waves>& waves, unsigned count,
                             std::span<const Release> arrived, Stamp now) {
  group_floor_ = ~Stamp{0};
  for (unsigned q = 0; q < count; ++q) {
    own_[q] = std::max(own_[q], waves[q]);
    if (q != wave_) group_floor_ = std::min(group_floor_, own_[q]);
  }
  if (group_floor_ == ~Stamp{0}) group_floor_ = now - 1;  // no other groups
  std::vector<const Known*> parts;
  for (const Release& r : arrived)
    if (r.known && r.known != known_ && std::find(parts.begin(), parts.end(), r.known.get()) == parts.end())
      parts.push_back(r.known.get());
  if (!parts.empty()) {
    parts.push_back(known_.get());
    known_ = merge(parts, {});
  }
  clock_ = now;
  released_ = false;
}

}  // namespace rapt::sim
