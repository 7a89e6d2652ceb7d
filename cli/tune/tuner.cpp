#include "cli/tune/tuner.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "cli/core/environment.hpp"
#include "cli/core/placement.hpp"
#include "cli/inputs/error.hpp"
#include "cli/probe/team.hpp"
#include "cli/tune/forms.hpp"
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
  TuneRow cell;
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
      TuneRow cell = kernels_.cell(w.problem, w.op, ways);
      const bool known = std::ranges::any_of(tasks, [&](const Task& t) { return t.cell.same_cell(cell); });
      if (!known) tasks.push_back({w.op, w.problem, std::move(ways), std::move(cell)});
    } catch (const Error& e) {
      if (e.status() != RAPT_UNSUPPORTED) throw;
      fmt::print("left out: {} {}\n", op_name(w.op), e.what());
    }
  }
  return tasks;
}

// Tried before, by the same kernels against the same default. A forecast does not replace a measurement.
bool Tuner::is_done(const Task& task) const {
  const TuneRow* known = table_.find(task.cell);
  return known && known->among == task.cell.among && known->against == task.cell.against &&
         (known->by == by_ || known->by == "measured");
}

bool Tuner::remove_wrong(Task& task, double end) {
  const Problem small = small_form(made_form(task.problem));
  std::vector<Way> right;
  for (const Way& way : task.ways.all) {
    const std::string asked = fmt::format("{} {} {}", op_name(task.op), small.text(), way.lead.text());
    auto known = std::ranges::find(verdicts_, asked, [](const auto& verdict) { return verdict.first; });
    if (known == verdicts_.end()) {
      progress_.show(fmt::format("checking {}", asked));
      const double most = std::min(kMostOfACheck, end - seconds_now());
      std::optional<std::string> what;
      if (most > 0) what = try_out(small, task.op, options_.device, way.backend, most);
      if (!what && most < kMostOfACheck) return false;
      known = verdicts_.insert(known, {asked, what.value_or(fmt::format("its check took more than {:.0f} s", most))});
      if (!known->second.empty()) {
        progress_.clear();
        fmt::print("wrong: {}: {}\n", asked, known->second);
        ++wrong_;
      }
    }
    if (known->second.empty()) right.push_back(way);
    else if (right.empty()) break;  // the default: rows beside it would be read as if it could stand in
  }
  task.ways.all = std::move(right);
  return true;
}

RaceResult Tuner::timed(const Task& task, double end, size_t left) const {
  WayTimer timer(made_form(task.problem), task.op, options_.device, options_.seed);
  const double share = (end - seconds_now()) / static_cast<double>(left);
  const RaceRules rules{.seconds = share, .exact = by_ == "simulated", .seed = options_.seed};
  return race(
      task.ways.all.size(), rules, [&](size_t way) { return timer.sample(task.ways.all[way].backend); }, seconds_now);
}

bool Tuner::tune(Task& task, double end, size_t left) {
  if (!remove_wrong(task, end)) return false;
  if (task.ways.all.size() < 2) return true;
  RaceResult result;
  try {
    result = timed(task, end, left);
  } catch (const std::exception& e) {  // no memory for it, or the default cannot be launched: others may do
    progress_.clear();
    fmt::print("left out: {} {}: {}\n", op_name(task.op), task.problem.text(), e.what());
    ++wrong_;
    return true;
  }
  progress_.clear();
  print(task, result);
  if (!result.decided) return false;
  TuneRow row = task.cell;
  const auto& entrants = result.entrants;
  if (result.winner != 0) {
    row.use = task.ways.all[result.winner].lead.text();
    row.gain = entrants[result.winner].gain;
  }
  // Where the default stays: the gain of the fastest other.
  for (size_t i = 1; i < entrants.size() && result.winner == 0; ++i)
    if (entrants[i].gain.high > row.gain.high) row.gain = entrants[i].gain;
  row.by = by_;
  row.rounds = std::max(result.rounds, 1);  // 0: the others left in their first calls
  store(row);
  return true;
}

void Tuner::store(const TuneRow& row) {
  const auto add = [&](TuneTable& table) {
    table.put(row);
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
    fmt::print("  {} {:<44} {:>12}  {}\n", i == result.winner ? '*' : ' ', task.ways.all[i].lead.name, time, what);
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
  print_environment("");
  const double start = seconds_now();
  size_t begun = 0, tuned = 0;
  for (Task& task : tasks) {
    const double now = seconds_now();
    if (now >= end) break;
    double left = end - now;
    if (begun > 0)
      left = std::min(left, (now - start) * static_cast<double>(tasks.size() - begun) / static_cast<double>(begun));
    progress_.show(fmt::format("{} of {}, about {:.0f} s left: {} {}", begun + 1, tasks.size(), left, op_name(task.op),
                               task.problem.text()));
    tuned += tune(task, end, tasks.size() - begun);
    ++begun;
  }
  progress_.clear();
  if (tuned < tasks.size()) fmt::print("{} cells are left: the same command goes on with them\n", tasks.size() - tuned);
  if (options_.output.empty()) fmt::print("\n{}", table_.text());
  else fmt::print("{}: {} answers\n", options_.output, table_.size());
  return wrong_;
}

}  // namespace rapt::cli
