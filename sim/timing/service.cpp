#include "sim/timing/service.hpp"

#include "sim/timing/cache.hpp"

#include <unordered_set>

namespace rapt::sim::timing {
namespace {

using Lines = std::unordered_set<std::uint64_t>;

struct Missed {
  std::uint64_t lines = 0;  // with repetitions
  Lines distinct;
};

// One wave's way through its trace.
struct Walk {
  const WaveTrace* trace;
  Cache* l1;
  std::size_t at = 0, request = 0;
};

// The waves of a die go on in turn, a few instructions each.
template <typename F>
void walk_together(std::vector<Walk>& walks, Steps& steps, F&& visit) {
  constexpr std::size_t turn = 16;
  for (bool any = true; any;) {
    any = false;
    for (Walk& walk : walks) {
      const auto& slots = walk.trace->slots;
      for (std::size_t n = 0; n < turn && walk.at < slots.size(); ++n, ++walk.at) {
        any = true;
        const Step& step = steps.at(slots[walk.at]);
        if (!step.request || walk.request == walk.trace->requests.size()) continue;
        visit(walk, step, slots[walk.at], walk.trace->requests[walk.request++]);
      }
    }
  }
}

}  // namespace

Service::Service(const Chip& chip, Steps& steps, std::span<const std::vector<const GroupTrace*>> dies) {
  std::vector<Missed> missed(dies.size());
  for (std::size_t d = 0; d < dies.size(); ++d) {
    Cache l2(chip.l2_bytes, chip.l2_ways, chip.line_bytes);
    std::vector<Cache> l1(std::min<std::size_t>(chip.units_per_die, dies[d].size()),
                          Cache(chip.l1_bytes, chip.l1_ways, chip.line_bytes));
    std::vector<Walk> walks;
    for (std::size_t n = 0; n < dies[d].size(); ++n)
      for (const WaveTrace& wave : dies[d][n]->waves) walks.push_back({&wave, &l1[n % l1.size()]});
    walk_together(walks, steps, [&](Walk& walk, const Step& step, std::uint32_t slot, const Request& request) {
      if (slots_.size() <= slot) slots_.resize(slot + 1);
      for (unsigned n = 0; n < request.lines; ++n) {
        const std::uint64_t line = walk.trace->lines[request.first_line + n];
        if (!step.store && walk.l1->touch(line)) continue;
        const bool hit = l2.touch(line);
        ++(hit ? slots_[slot].hits : slots_[slot].misses);
        ++(hit ? all_.hits : all_.misses);
        if (hit) continue;
        ++missed[d].lines;
        missed[d].distinct.insert(line);
      }
    });
  }
  // A line that two dies read is assumed to be read by all, and to come from memory once.
  std::uint64_t lines = 0;
  double fetches = 0;
  for (std::size_t d = 0; d < missed.size(); ++d) {
    lines += missed[d].lines;
    const Lines* const other = missed.size() > 1 ? &missed[(d + 1) % missed.size()].distinct : nullptr;
    for (const std::uint64_t line : missed[d].distinct)
      fetches += other != nullptr && other->contains(line) ? 1.0 / chip.dies : 1.0;
  }
  if (chip.last_level_gigabytes != 0 && lines != 0) memory_of_misses_ = fetches / static_cast<double>(lines);
}

Level Service::next(std::uint32_t slot) {
  Slot& own = slot < slots_.size() && slots_[slot].hits + slots_[slot].misses != 0 ? slots_[slot] : all_;
  const std::uint64_t total = own.hits + own.misses;
  own.hit_debt += total == 0 ? 0 : static_cast<double>(own.hits) / static_cast<double>(total);
  if (own.hit_debt >= 1) {
    own.hit_debt -= 1;
    return Level::l2;
  }
  own.memory_debt += memory_of_misses_;
  if (own.memory_debt < 1) return Level::last;
  own.memory_debt -= 1;
  return Level::memory;
}

double Service::share(Level level) const {
  const double total = static_cast<double>(all_.hits + all_.misses);
  if (total == 0) return 0;
  if (level == Level::l2) return static_cast<double>(all_.hits) / total;
  const double misses = static_cast<double>(all_.misses) / total;
  return level == Level::memory ? misses * memory_of_misses_ : misses * (1 - memory_of_misses_);
}

}  // namespace rapt::sim::timing
