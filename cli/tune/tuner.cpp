#include "cli/tune/tuner.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "cli/core/placement.hpp"
#include "cli/inputs/error.hpp"
#include "cli/probe/team.hpp"
#include "cli/tune/timer.hpp"
#include "cli/tune/trial.hpp"

namespace rapt::cli {

namespace {

constexpr double kMostOfACheck = 120;  // seconds

const char* op_name(rapt_op op) { return op == RAPT_FORWARD ? "forward" : "backward"; }

std::string percent(const Interval& gain) {
  return fmt::format("{:+.1f} % to {:+.1f} %", (gain.low - 1) * 100, (gain.high - 1) * 100);
}

}  // namespace

// One cell of the table, with the first problem that is in it.
struct Tuner::Task {
  rapt_op op;
  Problem problem;
  Ways ways;
  TuneRow cell;  // of the default's stage
};

Tuner::Tuner(const TuneOptions& options, Progress& progress)
    : options_(options), progress_(progress), kernels_(options.device) {
  const rapt_device_info info = describe(options.device);
  if (info.simulator && *info.time_model == 0)
    throw InputError(
        fmt::format("{} is a simulated GPU, and no time is modelled: RAPT_SIM_TIME=sample asks for forecasts",
                    device_name(options.device)));
  by_ = info.simulator ? "simulated" : "measured";
  if (!options.output.empty()) table_ = TuneTable::read(options.output);
}

std::string Tuner::machine() const {
  const rapt_device_info info = describe(options_.device);
  return fmt::format("{}, {} compute units, {}", info.name, info.compute_units,
                     info.simulator ? info.time_model : info.runtime);
}

std::vector<Tuner::Task> Tuner::tasks_of(const std::vector<WantedProblem>& wanted) {
  std::vector<Task> tasks;
  for (const WantedProblem& w : wanted) {
    try {
      Ways ways = kernels_.ways(w.problem, w.op);
      TuneRow cell = kernels_.cell(w.problem, w.op, ways, ways.all.front().kernel.stage);
      const bool known = std::ranges::any_of(tasks, [&](const Task& t) { return t.cell.same_cell(cell); });
      if (!known) tasks.push_back({w.op, w.problem, std::move(ways), std::move(cell)});
    } catch (const Error& e) {
      if (e.status() != RAPT_UNSUPPORTED) throw;
      fmt::print("left out: {} {}\n", op_name(w.op), e.what());
    }
  }
  return tasks;
}

// Tried before, by the same kernels against the same default.
bool Tuner::is_done(const Task& task) const {
  const TuneRow* known = table_.find(task.cell);
  return known && known->among == task.cell.among && known->against == task.cell.against && known->by == by_;
}

void Tuner::remove_wrong(Task& task) {
  const Problem small = small_form(task.problem);
  const auto verdict = [&](const Way& way) {
    const std::string asked = fmt::format("{} {} {}", op_name(task.op), small.text(), way.kernel.text());
    for (const auto& [known, what] : verdicts_)
      if (known == asked) return what;
    progress_.show(fmt::format("checking {}", asked));
    std::string what = try_out(small, task.op, options_.device, way.backend, kMostOfACheck);
    if (!what.empty()) {
      progress_.clear();
      fmt::print("wrong: {}: {}\n", asked, what);
      ++wrong_;
    }
    verdicts_.emplace_back(asked, what);
    return what;
  };
  // A default that is wrong has nothing beside it: its rows would be read as if it could stand in.
  if (!verdict(task.ways.all.front()).empty()) task.ways.all.resize(1);
  else std::erase_if(task.ways.all, [&](const Way& way) { return !verdict(way).empty(); });
}

void Tuner::tune(Task& task, double end, size_t left) {
  remove_wrong(task);
  if (task.ways.all.size() == 1) return;
  WayTimer timer(task.problem, task.op, options_.device, options_.seed);
  const double share = (end - seconds_now()) / static_cast<double>(left);
  const RaceRules rules{.seconds = share, .exact = by_ == "simulated", .seed = options_.seed};
  const RaceResult result = race(
      task.ways.all.size(), rules, [&](size_t way) { return timer.sample(task.ways.all[way].backend); }, seconds_now);
  progress_.clear();
  print(task, result);
  if (result.rounds == 0) return;
  std::vector<TuneRow> rows = kernels_.rows(task.problem, task.op, task.ways, result.winner);
  // Of a default that stays: the gain of the fastest other.
  Interval gain = result.entrants[result.winner].gain;
  if (result.winner == 0) gain = {};
  for (size_t i = 1; i < result.entrants.size() && result.winner == 0; ++i)
    if (result.entrants[i].gain.high > gain.high) gain = result.entrants[i].gain;
  for (TuneRow& row : rows) {
    row.by = by_;
    row.among = task.cell.among;  // also those that were wrong: they need not be tried again
    row.gain = gain;
    row.rounds = result.rounds;
  }
  store(rows);
}

void Tuner::store(const std::vector<TuneRow>& rows) {
  const auto add = [&](TuneTable& table) {
    table.put(rows);
    table.note(machine(), fmt::format(", rapt {}, {:%F}", rapt_version_string(), fmt::gmtime(std::time(nullptr))));
  };
  add(table_);
  if (!options_.output.empty()) update_table(options_.output, add);
}

void Tuner::print(const Task& task, const RaceResult& result) const {
  fmt::print("{} {}\n", op_name(task.op), task.problem.text());
  for (size_t i = 0; i < result.entrants.size(); ++i) {
    const Entrant& e = result.entrants[i];
    const std::string time = e.seconds.empty() ? "-" : fmt::format("{:.4f} ms", median(e.seconds) * 1e3);
    std::string what = i == 0 ? "the default" : e.seconds.empty() ? "" : percent(e.gain);
    if (!e.left.empty()) what += fmt::format("{}left: {}", what.empty() ? "" : "; ", e.left);
    fmt::print("  {} {:<44} {:>12}  {}\n", i == result.winner ? '*' : ' ', task.ways.all[i].kernel.name, time, what);
  }
  fmt::print("  {} after {} rounds: {}\n", by_, result.rounds, result.ended);
  std::fflush(stdout);
}

int Tuner::run(const std::vector<WantedProblem>& wanted) {
  const double end = seconds_now() + options_.budget;
  std::vector<Task> tasks = tasks_of(wanted);
  const size_t found = tasks.size();
  const size_t alone = std::erase_if(tasks, [](const Task& t) { return t.ways.all.size() == 1; });
  const size_t done = std::erase_if(tasks, [&](const Task& t) { return is_done(t); });
  fmt::print(
      "{}\n{} problems in {} cells of the table: {} have one kernel, {} were tuned before, {} to tune in {:.0f} s\n",
      machine(), wanted.size(), found, alone, done, tasks.size(), options_.budget);
  size_t tuned = 0;
  for (Task& task : tasks) {
    const double left = end - seconds_now();
    if (left <= 0) break;
    progress_.show(fmt::format("{} of {}, about {:.0f} s left: {} {}", tuned + 1, tasks.size(), left, op_name(task.op),
                               task.problem.text()));
    tune(task, end, tasks.size() - tuned);
    ++tuned;
  }
  if (tuned < tasks.size()) fmt::print("{} cells are left: the same command goes on with them\n", tasks.size() - tuned);
  if (options_.output.empty()) fmt::print("\n{}", table_.text());
  else fmt::print("{}: {} answers\n", options_.output, table_.size());
  return wrong_;
}

}  // namespace rapt::cli
