// rapt-sim validate: measured times of kernels that AMD ships, beside forecasts of them.
#include "common/atomic_file.hpp"
#include "sim/device/device.hpp"
#include "sim/timing/launch_time.hpp"
#include "sim/tool/tool.hpp"
#include "sim/validate/clearing.hpp"
#include "sim/validate/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <regex>

namespace rapt::sim::tool {
namespace {

using validate::Measurement;

struct ValidateOptions {
  std::string times, objects, rows, json;
  std::vector<std::string> settings;
  bool check = false, why = false;
  unsigned jobs = 1;
};

std::vector<const Measurement*> select(const std::vector<Measurement>& all, const std::string& pattern) {
  std::vector<const Measurement*> selected;
  try {
    const std::regex expression(pattern);
    for (const Measurement& row : all)
      if (std::regex_search(row.part() + " " + row.kernel + " " + row.shape, expression)) selected.push_back(&row);
  } catch (const std::regex_error&) {
    throw InputError(fmt::format("--rows: '{}' is not a regular expression", pattern));
  }
  if (selected.empty()) throw InputError(fmt::format("--rows: no row matches '{}'", pattern));
  return selected;
}

int check_rows(validate::Objects& objects, const std::vector<const Measurement*>& rows) {
  unsigned wrong = 0;
  const auto distinct = distinct_checks(rows);
  for (const Measurement* row : distinct) {
    const validate::Check check = validate::check(objects, *row);
    fmt::print("{:<11} {}", row->part(), line(check));
    std::fflush(stdout);
    wrong += !check.good();
  }
  fmt::print("{} problems, {} of them wrong\n", distinct.size(), wrong);
  return wrong == 0 ? 0 : 1;
}

// "memory_efficiency=0.9": instead of the table's number, on every chip.
void set_number(timing::Chip& chip, const std::string& setting) {
  const auto equals = std::min(setting.find('='), setting.size());
  std::string names;
  for (const timing::FittedNumber& number : timing::fitted_numbers()) {
    names += (names.empty() ? "" : ", ") + std::string(number.name);
    if (setting.substr(0, equals) != number.name) continue;
    char* end = nullptr;
    const char* const value = setting.c_str() + std::min(equals + 1, setting.size());
    const double parsed = std::strtod(value, &end);
    if (end == value || *end != 0 || !(parsed >= 0))
      throw InputError(fmt::format("--set: '{}' is not a number", value));
    return number.set(chip, parsed);
  }
  throw InputError(
      fmt::format("--set: '{}' is not a fitted number, must be one of {}", setting.substr(0, equals), names));
}

// `why` becomes what takes the time.
double forecast(const ValidateOptions& options, const validate::BoundLaunch& launch, timing::Chip chip,
                std::string& why) {
  for (const std::string& setting : options.settings) set_number(chip, setting);
  const auto result = run(launch.launch(), 0, {}, {&chip, true}).forecast;
  why = timing::summary(*result) + "\n";
  return validate::clearing_microseconds(chip, launch.cleared_bytes()) + result->microseconds;
}

// Forecasts --jobs rows at a time and prints each when it is done; the results are in the order of the rows.
std::vector<validate::Result> evaluate_rows(const ValidateOptions& options, validate::Objects& objects,
                                            const std::vector<const Measurement*>& rows,
                                            const validate::Roofline& roofline) {
  std::vector<validate::Result> results(rows.size());
  std::atomic<std::size_t> next = 0;
  std::mutex printing;
  const auto work = [&] {
    for (std::size_t n; (n = next++) < rows.size();) {
      std::string why;
      results[n] = evaluate(objects, *rows[n], roofline, [&](const auto& launch, const timing::Chip& chip) {
        return forecast(options, launch, chip, why);
      });
      const std::lock_guard lock(printing);
      fmt::print("{}{}", options.why ? why : "", line(results[n]));
      std::fflush(stdout);
    }
  };
  std::vector<std::future<void>> others;
  for (std::size_t n = 1; n < std::min<std::size_t>(options.jobs, rows.size()); ++n)
    others.push_back(std::async(std::launch::async, work));
  work();
  for (auto& other : others) other.get();
  return results;
}

int validate_command(const ValidateOptions& options) {
  const auto all = validate::read_measurements(options.times);
  if (!std::filesystem::is_directory(options.objects))
    throw InputError(fmt::format("--objects: '{}' is not a folder", options.objects));
  const auto rows = select(all, options.rows);
  timing::Chip checked = timing::chips().front();  // whether or not a row is forecast
  for (const std::string& setting : options.settings) set_number(checked, setting);
  validate::Objects objects(options.objects);
  if (options.check) return check_rows(objects, rows);

  const validate::Roofline roofline(all);
  fmt::print("{}", validate::heading());
  const auto results = evaluate_rows(options, objects, rows, roofline);
  const auto summaries = summarize(results);
  fmt::print("{}", table(summaries, roofline));
  if (!options.json.empty()) common::write_file(options.json, json(results, summaries, roofline).dump(1) + "\n");
  return 0;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto o = std::make_shared<ValidateOptions>();
  CLI::App* sub = app.add_subcommand("validate", "Compare measured times of shipped kernels with forecasts");
  sub->add_option("--times", o->times, "CSV file with the columns arch, cus, kind, kernel, shape, us, code_object")
      ->required();
  sub->add_option("--objects", o->objects, "The folder to which the column code_object is relative")->required();
  sub->add_option("--rows", o->rows, "Only rows whose part, kernel and shape match this regular expression");
  sub->add_flag("--check", o->check,
                "Run a small problem of each kernel and compare its results with double precision");
  sub->add_flag("--why", o->why, "Say of each forecast what takes the time");
  sub->add_option("--jobs", o->jobs, "Rows to forecast at a time; each has its operands in memory, up to 4 GiB")
      ->check(CLI::Range(1U, 1024U));
  sub->add_option("--set", o->settings, "NAME=VALUE: another value of a fitted number of the model (repeatable)");
  sub->add_option("--json", o->json, "Write all numbers to this file");
  sub->footer(
      "Examples:\n"
      "  rapt-sim validate --times times.csv --objects aiter\n"
      "  rapt-sim validate --times times.csv --objects aiter --rows 'gfx950/256 .*bf16gemm' --check");
  sub->callback([o, &action] { action = [o] { return validate_command(*o); }; });
}

}  // namespace rapt::sim::tool
