#include "sim/check/races/launch.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

// Pages of past launches, reused by the next ones: for a kernel that touches its memory once, creating them costs as
// much as all other work on them.
class SparePages {
 public:
  std::unique_ptr<RacePage> take() {
    const std::lock_guard lock(mutex_);
    if (pages_.empty()) return nullptr;
    auto page = std::move(pages_.back());
    pages_.pop_back();
    return page;
  }
  void give(std::vector<std::unique_ptr<RacePage>>& pages) {
    constexpr std::size_t most = 4096;  // about 100 MB
    const std::lock_guard lock(mutex_);
    for (auto& page : pages)
      if (pages_.size() < most) pages_.push_back(std::move(page));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<RacePage>> pages_;
};

SparePages& spare_pages() {
  static auto* const pages = new SparePages;  // worker threads may outlive static objects
  return *pages;
}

}  // namespace

RaceLaunch::~RaceLaunch() { spare_pages().give(pages_); }

std::uint32_t RaceLaunch::add_group(std::array<std::uint32_t, 3> id) {
  const std::lock_guard lock(group_mutex_);
  groups_.emplace_back().id = id;
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

std::array<std::uint32_t, 3> RaceLaunch::group_id(std::uint32_t group) {
  const std::lock_guard lock(group_mutex_);
  return groups_[group].id;
}

void RaceLaunch::publish(std::uint32_t group, Stamp barrier, const std::shared_ptr<const Known>& known) {
  const std::lock_guard lock(group_mutex_);
  Group& g = groups_[group];
  if (barrier != 0) g.barriers[g.next++ % g.barriers.size()] = barrier;
  if (known) g.known = known;
}

Release RaceLaunch::release_at(std::uint32_t group, unsigned wave, Stamp clock) {
  const std::lock_guard lock(group_mutex_);
  const Group& g = groups_[group];
  Stamp floor = 0;
  for (Stamp barrier : g.barriers)
    if (barrier <= clock && barrier != 0) floor = std::max(floor, barrier - 1);
  return {group, wave, clock, floor, g.known};
}

RacePage& RaceLaunch::page(std::uint64_t number) {
  const std::lock_guard lock(page_mutex_);
  RacePage*& found = by_number_[number];
  if (found) return *found;
  if (pages_.size() < page_limit) {
    auto page = spare_pages().take();
    if (page) page->shadow.forget();
    else page = std::make_unique<RacePage>();
    page->number = number;
    found = pages_.emplace_back(std::move(page)).get();
    return *found;
  }
  RacePage& victim = *pages_[oldest_++ % pages_.size()];
  const std::lock_guard page_lock(victim.lock);
  by_number_.erase(victim.number);
  victim.number = number;
  victim.shadow.forget();
  by_number_[number] = &victim;
  return victim;
}

}  // namespace rapt::sim
