#include "sim/timing/service.hpp"

#include "sim/timing/cache.hpp"

#include <unordered_set>

namespace rapt::sim::timing {
namespace {

using Lines = std::unordered_set<std::uint64_t>;

struct Missed {
  std::uint64_t lines = 0;    // with repetitions
  std::uint64_t touched = 0;  // found in a cache or not
  Lines distinct;
};

// One wave's way through its trace.
struct Walk {
  const WaveTrace* trace;
  std::size_t end;
  Cache *l1, *array;  // array: null if there is none
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
      for (std::size_t n = 0; n < turn && walk.at < walk.end; ++n, ++walk.at) {
        any = true;
        const Step& step = steps.at(slots[walk.at]);
        if (!step.request || walk.request == walk.trace->requests.size()) continue;
        visit(walk, step, slots[walk.at], walk.trace->requests[walk.request++]);
      }
    }
  }
}

// How many dies read a line that one of the crowds' reads. Workgroups go to the dies in turn. So grids whose sides are
// powers of two share lines between dies whose numbers differ in some bits, and the crowds are of dies 0, 1, 2 and 4.
// If a die that differs in one bit has the line, so have half of all.
double dies_with(const Chip& chip, const std::vector<Missed>& crowds, std::uint64_t line) {
  double dies = 0.5;
  for (const Missed& crowd : crowds)
    if (crowd.distinct.contains(line)) dies *= 2;
  return std::min<double>(dies, chip.dies);
}

// The share of L2's misses that came from memory, and not from the last-level cache.
double memory_of_misses(const Chip& chip, const std::vector<Missed>& crowds, const Missed& die) {
  if (chip.last_level_gigabytes == 0 || die.lines == 0) return 1;
  double fetches = 0;
  for (const std::uint64_t line : die.distinct) fetches += 1 / dies_with(chip, crowds, line);
  return fetches / static_cast<double>(die.lines);
}

// Whether the group executes a memory instruction that is not among the known ones.
bool does_more(const GroupTrace& group, Steps& steps, const std::vector<bool>& known) {
  return std::any_of(group.waves.begin(), group.waves.end(), [&](const WaveTrace& wave) {
    return std::any_of(wave.slots.begin(), wave.slots.end(), [&](std::uint32_t slot) {
      return (slot >= known.size() || !known[slot]) && steps.at(slot).request;
    });
  });
}

}  // namespace

Service::Service(const Chip& chip, Steps& steps, std::span<const std::vector<CrowdGroup>> dies,
                 std::span<const GroupTrace* const> later) {
  std::vector<Missed> missed(dies.size());
  std::vector<bool> seen, known;                 // by slot: a wave has come to it; the crowds have
  for (std::size_t d = dies.size(); d-- > 0;) {  // the first last: its later groups come to what all crowds did not
    Cache l2(chip.l2_bytes, chip.l2_ways, chip.line_bytes);
    const std::size_t units = std::min<std::size_t>(chip.units_per_die, dies[d].size());
    const unsigned per_unit = compute_units_per_unit(chip);
    std::vector<Cache> l1(units * per_unit, Cache(chip.l1_bytes, chip.l1_ways, chip.line_bytes));
    std::vector<Cache> arrays;
    if (chip.units_per_array != 0)
      arrays.assign((units - 1) / chip.units_per_array + 1, Cache(chip.array_bytes, chip.array_ways, chip.line_bytes));
    std::vector<Walk> walks;
    const auto add = [&](const GroupTrace& group, std::size_t number, std::uint64_t instructions) {
      const std::size_t unit = number % units;
      for (std::size_t w = 0; w < group.waves.size(); ++w) {
        const WaveTrace& wave = group.waves[w];
        Cache* const array = arrays.empty() ? nullptr : &arrays[unit / chip.units_per_array];
        walks.push_back({&wave, std::min<std::size_t>(instructions, wave.slots.size()),
                         &l1[unit * per_unit + w % per_unit], array});
      }
    };
    const auto look = [&](Walk& walk, const Step& step, std::uint32_t slot, const Request& request) {
      if (slots_.size() <= slot) slots_.resize(slot + 1);
      if (seen.size() <= slot) seen.resize(slot + 1);
      seen[slot] = true;
      const bool counts = slot >= known.size() || !known[slot];
      if (counts) missed[d].touched += request.lines;
      for (unsigned n = 0; n < request.lines; ++n) {
        const std::uint64_t line = walk.trace->lines[request.first_line + n];
        if (!step.store && walk.l1->touch(line)) continue;
        const bool in_array = !step.store && walk.array != nullptr && walk.array->touch(line);
        const bool hit = !in_array && l2.touch(line);
        if (!counts) continue;
        for (Slot* slot_or_all : {&slots_[slot], &all_})
          ++(in_array ? slot_or_all->array_hits : hit ? slot_or_all->hits : slot_or_all->misses);
        if (in_array || hit) continue;
        ++missed[d].lines;
        missed[d].distinct.insert(line);
      }
    };
    for (std::size_t n = 0; n < dies[d].size(); ++n) add(*dies[d][n].trace, n, dies[d][n].instructions);
    walk_together(walks, steps, look);
    if (d != 0) continue;
    known = seen;
    walks.clear();
    for (std::size_t n = 0; n < later.size(); ++n)  // on any unit
      if (does_more(*later[n], steps, known)) add(*later[n], n, ~std::uint64_t{0});
    walk_together(walks, steps, look);
  }
  for (const Missed& die : missed) {
    const double memory = memory_of_misses(chip, missed, die);
    if (&die == &missed.front()) memory_of_misses_ = memory;
    memory_shares_.push_back(memory * static_cast<double>(die.lines) /
                             static_cast<double>(std::max<std::uint64_t>(die.touched, 1)));
  }
}

Level Service::next(std::uint32_t slot, bool store) {
  const bool reached = slot < slots_.size() && lines(slots_[slot]) != 0;
  if (store && !reached) return Level::memory;
  Slot& own = reached ? slots_[slot] : all_;
  if (own.array_hits != 0) {
    own.array_debt += static_cast<double>(own.array_hits) / static_cast<double>(lines(own));
    if (own.array_debt >= 1) {
      own.array_debt -= 1;
      return Level::array;
    }
  }
  const std::uint64_t total = beyond_array(own);
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
  const double total = static_cast<double>(lines(all_)), misses = static_cast<double>(all_.misses);
  if (total == 0) return 0;
  switch (level) {
    case Level::array: return static_cast<double>(all_.array_hits) / total;
    case Level::l2: return static_cast<double>(all_.hits) / total;
    case Level::last: return misses * (1 - memory_of_misses_) / total;
    default: return misses * memory_of_misses_ / total;
  }
}

std::string_view name(Level level) {
  static constexpr std::string_view names[] = {"shader array", "L2", "last level", "memory"};
  return names[static_cast<unsigned>(level)];
}

}  // namespace rapt::sim::timing
