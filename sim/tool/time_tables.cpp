// The tables of a forecast's report, for text and HTML alike.
#include "sim/tool/time_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rapt::sim::tool {
namespace {

constexpr std::size_t places_of_time = 20;

double clocks(const Json& entry) { return entry["time"]["clocks"].get<double>(); }

// Percent of the time of all timed waves.
std::string share(double part, double all) { return fmt::format("{:.1f}", all > 0 ? 100 * part / all : 0.0); }

// The causes that matter in this kernel, in the model's order.
std::vector<std::string> causes_of(const Json& kernel) {
  constexpr double least = 0.002;
  std::vector<std::string> names;
  for (const auto& [name, part] : kernel["time"]["causes"].items())
    if (part.get<double>() >= least * clocks(kernel)) names.push_back(name);
  return names;
}

std::vector<std::size_t> longest(const Json& list, std::size_t most) {
  std::vector<std::size_t> order(list.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return clocks(list[a]) > clocks(list[b]); });
  order.resize(std::min(order.size(), most));
  return order;
}

void add_causes(std::vector<std::string>& row, const Json& place, const std::vector<std::string>& causes, double all) {
  for (const std::string& cause : causes) row.push_back(share(place["time"]["causes"][cause].get<double>(), all));
}

// What a wave spends most of its clocks on there.
std::string main_cause(const Json& time) {
  std::string name;
  double most = -1;
  for (const auto& [cause, part] : time["causes"].items())
    if (part.get<double>() > most) name = cause, most = part.get<double>();
  return name;
}

TimeTable loop_table(const Json& kernel, const std::vector<std::string>& causes) {
  TimeTable table{"loops, % of the waves' time", {"loop", "time", "rounds", "clocks a round"}, {}};
  table.columns.insert(table.columns.end(), causes.begin(), causes.end());
  table.columns.emplace_back("source");
  for (const Json& l : kernel["loops"]) {
    const auto rounds = l["iterations"].get<double>();
    std::vector<std::string> row{std::string(2 * l["depth"].get<std::size_t>(), ' ') +
                                     address_text(l["first"].get<std::int64_t>()) + ".." +
                                     address_text(l["last"].get<std::int64_t>()),
                                 share(clocks(l), clocks(kernel)), fmt::format("{:.0f}", rounds),
                                 fmt::format("{:.0f}", rounds > 0 ? clocks(l) / rounds : 0)};
    add_causes(row, l, causes, clocks(kernel));
    row.push_back(source_text(l["source"]));
    table.rows.push_back(std::move(row));
  }
  return table;
}

TimeTable place_table(const Json& kernel, const std::vector<std::string>& causes) {
  const bool by_line = !kernel["lines"].empty();
  const Json& list = kernel[by_line ? "lines" : "blocks"];
  TimeTable table{
      by_line ? "source lines, % of the waves' time" : "blocks of code, % of the waves' time", {"where", "time"}, {}};
  table.columns.insert(table.columns.end(), causes.begin(), causes.end());
  for (const std::size_t n : longest(list, places_of_time)) {
    const Json& place = list[n];
    const std::string where = by_line ? source_text(place["source"])
                                      : address_text(place["first"].get<std::int64_t>()) + ".." +
                                            address_text(place["end"].get<std::int64_t>());
    std::vector<std::string> row{where, share(clocks(place), clocks(kernel))};
    add_causes(row, place, causes, clocks(kernel));
    table.rows.push_back(std::move(row));
  }
  return table;
}

TimeTable instruction_table(const Json& kernel) {
  TimeTable table{"instructions, % of the waves' time",
                  {"at", "time", "issued", "clocks each", "mostly", "instruction", "source"},
                  {}};
  for (const std::size_t n : longest(kernel["instructions"], places_of_time)) {
    const Json& i = kernel["instructions"][n];
    const auto times = i["time"]["issued"].get<double>();
    table.rows.push_back({address_text(i["offset"].get<std::int64_t>()), share(clocks(i), clocks(kernel)),
                          fmt::format("{:.0f}", times), fmt::format("{:.1f}", clocks(i) / std::max(times, 1.0)),
                          main_cause(i["time"]), i["text"].get<std::string>(), source_text(i["source"])});
  }
  return table;
}

// The times that the forecast may stand for, and the reason for the width.
std::string interval(const Json& a) {
  const auto rows = a["published_times"].get<unsigned>();
  const std::string why =
      rows == 0 ? std::string("no published time of this chip was compared; forecasts may be wrong by a factor of two")
                : fmt::format("{:.0f} % of {} published times are within {:.0f} % of their forecasts",
                              100 * a["share"].get<double>(), rows, 100 * a["within"].get<double>());
  return fmt::format("{:.2f} to {:.2f} us: {} ({})", a["low"].get<double>(), a["high"].get<double>(), why,
                     a["source"].get<std::string>());
}

}  // namespace

std::vector<std::string> times_header(const Json& k, const std::string& model, double flops) {
  const Json& first = k["first_launch"];
  const auto launches = k["launch_count"].get<double>();
  const double mean = k["total_microseconds"].get<double>() / launches;
  std::string time = fmt::format("{:.0f} launch{}, {:.2f} us each", launches, launches == 1 ? "" : "es", mean);
  if (flops > 0) time += fmt::format(", {:.1f} TFLOP/s", flops / mean * 1e-6);
  std::string levels;
  for (const auto& [level, part] : first["levels"].items())
    levels += fmt::format("{}{} {:.0f} %", levels.empty() ? "" : ", ", level, 100 * part.get<double>());
  return {fmt::format("{} on {}:{}, simulated by {}", k["name"].get<std::string>(), k["arch"].get<std::string>(),
                      k["chip"].get<std::string>(), model),
          time, interval(k["accuracy"]),
          fmt::format("first launch: {:.0f} clocks at {:.0f} MHz, matrix units busy {:.0f} %; {} of {} workgroups "
                      "timed (+- {:.1f} %)",
                      first["clocks"].get<double>(), first["clock_mhz"].get<double>(),
                      100 * first["matrix_share"].get<double>(), first["timed_groups"].get<std::uint64_t>(),
                      first["groups"].get<std::uint64_t>(), 100 * first["sample_error"].get<double>()),
          "lines that miss L1 come from: " + levels};
}

bool is_text_column(const std::string& name) {
  return name == "loop" || name == "where" || name == "mostly" || name == "instruction" || name == "source";
}

std::vector<TimeTable> time_tables(const Json& kernel) {
  const std::vector<std::string> causes = causes_of(kernel);
  TimeTable all{"all, % of the waves' time", causes, {{}}};
  add_causes(all.rows[0], kernel, causes, clocks(kernel));
  std::vector<TimeTable> tables{std::move(all)};
  if (!kernel["loops"].empty()) tables.push_back(loop_table(kernel, causes));
  tables.push_back(place_table(kernel, causes));
  tables.push_back(instruction_table(kernel));
  return tables;
}

}  // namespace rapt::sim::tool
