#include "sim/timing/launch_time.hpp"

#include "sim/timing/die_work.hpp"
#include "sim/timing/lengths.hpp"
#include "sim/timing/model.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>

namespace rapt::sim::timing {
namespace {

struct Run {
  double clocks = 0, matrix_share = 0, vector_share = 0;
  double memory_clocks = 0;  // in which a unit's share of the bandwidth was in use
  std::uint64_t groups = 0, instructions = 0;
};

// The standard error of the counted groups' mean length, as a fraction of it, if they are a sample. Where lengths
// follow the order of the groups neighbours are alike, so that the variance comes from successive differences (Wolter,
// "Introduction to Variance Estimation", systematic samples).
double sample_error(const Chip& chip, const Plan& plan, std::uint64_t groups, const Traces& traces) {
  const std::vector<std::uint64_t> counted = plan.groups();
  const double n = static_cast<double>(counted.size());
  const double part = n * chip.dies / static_cast<double>(groups);
  if (part >= 1 || n < 2) return 0;
  double sum = 0, squares = 0, before = 0;
  for (std::size_t g = 0; g < counted.size(); ++g) {
    const double now = length(traces, counted[g]);
    sum += now;
    if (g > 0) squares += (now - before) * (now - before);
    before = now;
  }
  return std::sqrt(squares / (2 * (n - 1)) * n * (1 - part)) / sum;
}

// Bytes per clock of one unit while `busy` of the timed units still have a group: they get what the others left.
Shares shares_of_busy(const Chip& chip, const Plan& plan, double mhz, std::size_t busy) {
  const double part = static_cast<double>(busy) / static_cast<double>(plan.first.size());
  return shares_of(chip, mhz, std::max(1.0, part * plan.busy_units), std::max(1.0, part * plan.busy_units_of_die));
}

Run run_units(const Chip& chip, Steps& steps, const Plan& plan, const Traces& traces, Service service, double mhz,
              std::vector<SlotTime>& slots, Timeline& timeline) {
  constexpr Clock slice = 512;  // that a unit may be ahead of the others
  const Shares all_busy = shares_of_busy(chip, plan, mhz, plan.first.size());
  std::vector<ComputeUnit> units;
  for (std::size_t u = 0; u < plan.first.size(); ++u)
    units.emplace_back(chip, steps, all_busy, service, slots, plan.placement, u == 0 ? &timeline : nullptr);
  Run run;
  // A die starts a group every group_clocks: one unit gets a group in every round of the die's units.
  for (std::size_t u = 0; u < units.size(); ++u)
    for (std::size_t n = 0; n < plan.first[u].size(); ++n, ++run.groups)
      units[u].start(
          traces.at(plan.first[u][n]),
          (u * plan.busy_units_of_die / units.size() + n * plan.busy_units_of_die) * std::uint64_t{chip.group_clocks});

  Clock last = 0;
  auto next = plan.next.begin();
  std::size_t busy = units.size();
  for (Clock until = slice; busy != 0; until += slice) {
    std::size_t still = 0;
    for (ComputeUnit& unit : units) {
      while (!unit.empty()) {
        const std::optional<Clock> end = unit.run(until);
        if (!end) break;
        last = std::max(last, *end);
        if (next == plan.next.end()) continue;
        unit.start(traces.at(*next++), *end + chip.group_clocks);
        ++run.groups;
      }
      last = std::max(last, unit.memory_ended());
      still += !unit.empty() || unit.memory_ended() > until;
    }
    if (still != 0 && still != busy) {
      const Shares shares = shares_of_busy(chip, plan, mhz, still);
      for (ComputeUnit& unit : units) unit.share(shares);
    }
    busy = still;
  }
  run.clocks = static_cast<double>(last);
  // Empty kernels take no clock.
  const double all = std::max(run.clocks, 1.0) * chip.simds * static_cast<double>(units.size());
  for (const ComputeUnit& unit : units) {
    run.matrix_share += static_cast<double>(unit.matrix_busy()) / all;
    run.vector_share += static_cast<double>(unit.vector_busy()) / all;
    run.memory_clocks += unit.memory_busy() / static_cast<double>(units.size());
    run.instructions += unit.instructions();
  }
  return run;
}

// How many times as many lines the first die's groups touch as those in the plan.
double more_lines(const Plan& counted, const Plan& plan, const Traces& traces) {
  const auto of_unit = [&](const Plan& of, double units) {
    double sum = 0;
    for (const std::uint64_t group : of.groups()) sum += static_cast<double>(traces.at(group).lines);
    return sum / units;
  };
  const double timed = of_unit(plan, static_cast<double>(plan.first.size()));
  return timed == 0 ? 1 : of_unit(counted, static_cast<double>(counted.first.size())) / timed;
}

// The clock at which a part draws no more power than it may. busy_units: of all its units.
double sustained_mhz(const Chip& chip, const Run& run, double busy_units, double microseconds) {
  const double power = (run.matrix_share + chip.vector_power * run.vector_share) * busy_units;
  const double busy = power * microseconds / (microseconds + chip.idle_microseconds);
  return chip.clock_mhz * std::min(1.0, std::sqrt(chip.sustained_matrix_share / std::max(busy, 1e-6)));
}

// The speed of a group that has the chip to itself, relative to its speed among the groups that its unit has at first.
double speed_alone(const Chip& chip, const Program& program, Steps& steps, const Plan& plan, const Traces& traces,
                   const Service& service, double mhz, const Run& all) {
  const std::size_t full = plan.most_at_first();
  if (full == 1) return 1;
  Plan one;
  one.first = {{plan.first[0][0]}};
  one.busy_units = one.busy_units_of_die = 1;
  one.placement = plan.placement;
  for (const auto& unit : plan.first)
    for (const std::uint64_t group : unit)
      if (length(traces, group) > length(traces, one.first[0][0])) one.first[0][0] = group;
  std::vector<SlotTime> slots(program.slots());
  Timeline timeline;
  const double clocks = run_units(chip, steps, one, traces, service, mhz, slots, timeline).clocks;
  const double pace = length(traces, one.first[0][0]) / clocks;
  // How long all were busy depends on how fast the last ones were.
  double alone = 1;
  for (int round = 0; round < 3; ++round)
    alone = std::clamp(pace * all.clocks / busy_length(plan, traces, alone), 1.0, static_cast<double>(full));
  return alone;
}

}  // namespace

std::string summary(const Forecast& f) {
  char text[256];
  std::snprintf(
      text, sizeof text,
      "%.2f us forecast (%s), %.0f clocks at %.0f MHz, matrix %.0f %%, vector %.0f %%, %llu of %llu groups timed "
      "(+- %.1f %%)",
      f.microseconds, model_name, f.clocks, f.clock_mhz, 100 * f.matrix_share, 100 * f.vector_share,
      static_cast<unsigned long long>(f.timed_groups), static_cast<unsigned long long>(f.groups), 100 * f.sample_error);
  std::string line = text;
  if (f.slowest_die > 0) {
    std::snprintf(text, sizeof text, ", the slowest die's %.0f %% longer", 100 * f.slowest_die);
    line += text;
  }
  line += "; stalls";
  for (unsigned s = 0; s < stall_count; ++s) {
    std::snprintf(text, sizeof text, ", %s %.0f %%", std::string(name(static_cast<Stall>(s))).c_str(),
                  100 * f.stalls[s]);
    line += text;
  }
  line += "; after L1";
  for (unsigned l = 0; l < level_count; ++l) {
    std::snprintf(text, sizeof text, "%s %s %.0f %%", l == 0 ? ":" : ",",
                  std::string(name(static_cast<Level>(l))).c_str(), 100 * f.levels[l]);
    line += text;
  }
  return line;
}

Forecast forecast(const Chip& chip, const Program& program, const Plan& plan, const Plan& counted, std::uint64_t groups,
                  const Traces& traces) {
  Steps steps(program, chip);
  std::vector<std::vector<CrowdGroup>> crowds;
  for (const auto& crowd : plan.crowds) {
    auto& die = crowds.emplace_back();
    for (const std::uint64_t group : crowd) {
      const bool followed = std::binary_search(plan.followed.begin(), plan.followed.end(), group);
      die.push_back({&traces.at(group), followed ? ~std::uint64_t{0} : crowd_instructions});
    }
  }
  std::vector<const GroupTrace*> later;
  for (const std::uint64_t group : plan.followed)
    if (!std::binary_search(plan.crowds.front().begin(), plan.crowds.front().end(), group))
      later.push_back(&traces.at(group));
  const Service service(chip, steps, crowds, later);

  const double busy_units = static_cast<double>(plan.busy_units) / (chip.dies * chip.units_per_die);

  Forecast result;
  double mhz = chip.clock_mhz;
  Run run;
  // The clock follows from the load, and the load from the clock: memory does not slow down with the units.
  for (int round = 0; round < 4; ++round) {
    result.slots.assign(program.slots(), {});
    result.timeline = {};
    run = run_units(chip, steps, plan, traces, service, mhz, result.slots, result.timeline);
    result.clock_mhz = mhz;
    mhz = sustained_mhz(chip, run, busy_units, run.clocks / mhz);
    if (std::abs(mhz - result.clock_mhz) < 0.02 * mhz) break;
  }
  SlotTime all;
  for (const SlotTime& slot : result.slots) all += slot;
  for (unsigned s = 0; s < stall_count; ++s)
    result.stalls[s] = static_cast<double>(all.stalled[s]) / static_cast<double>(std::max<Clock>(all.clocks(), 1));
  result.slowest_die = excess_of_slowest_die(chip, counted, traces);
  // A few units have other lengths than all, and seldom the longest one last.
  const double longer = busy_length(counted, traces) / busy_length(plan, traces);
  // What a long group at the grid's ends has to do once all others have ended.
  double ends = 1;
  if (const Plan with = with_longer_ends(counted, groups, traces); with.groups() != counted.groups()) {
    const double alone = speed_alone(chip, program, steps, plan, traces, service, result.clock_mhz, run);
    ends = busy_length(with, traces, alone) / busy_length(counted, traces, alone);
  }
  // No shorter than memory is busy with it.
  const double memory =
      memory_clocks(chip, counted, traces, service, run.memory_clocks * more_lines(counted, plan, traces),
                    shares_of_busy(chip, plan, result.clock_mhz, plan.first.size()));
  result.clocks = std::max(run.clocks * longer * std::max(1 + result.slowest_die, ends), memory);
  result.microseconds = chip.launch_microseconds + result.clocks / result.clock_mhz;
  result.matrix_share = run.matrix_share;
  result.vector_share = run.vector_share;
  for (unsigned l = 0; l < level_count; ++l) result.levels[l] = service.share(static_cast<Level>(l));
  result.timed_groups = run.groups;
  result.groups = groups;
  result.instructions = run.instructions;
  result.sample_error = sample_error(chip, counted, groups, traces);
  return result;
}

}  // namespace rapt::sim::timing
