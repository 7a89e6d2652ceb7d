#include "sim/profile/time_report.hpp"

#include "sim/isa/properties.hpp"
#include "sim/isa/text.hpp"
#include "sim/profile/counts.hpp"
#include "sim/profile/source_json.hpp"
#include "sim/timing/accuracy.hpp"
#include "sim/timing/model.hpp"

namespace rapt::sim {
namespace {

using Json = nlohmann::ordered_json;
using timing::SlotTime;

// The clocks of all timed waves together, by cause.
Json time_json(const SlotTime& time) {
  Json j{{"issued", time.issued}, {"clocks", time.clocks()}};
  Json& causes = j["causes"] = Json{{"executing", time.own}};
  for (unsigned s = 0; s < timing::stall_count; ++s)
    causes[std::string(name(static_cast<timing::Stall>(s)))] = time.stalled[s];
  return j;
}

Json accuracy_json(const KernelTimes& k) {
  const timing::Accuracy a = timing::accuracy_of(*k.chip);
  const double mean = k.total_microseconds / static_cast<double>(k.launch_count);
  return {{"low", a.low(mean)},
          {"high", a.high(mean)},
          {"share", a.share},
          {"within", a.within},
          {"published_times", a.rows},
          {"geometric_mean", a.geometric_mean},
          {"source", "docs/performance/amd-time.md"}};
}

Json first_json(const timing::Forecast& f) {
  Json levels;
  for (unsigned l = 0; l < timing::level_count; ++l)
    levels[std::string(name(static_cast<timing::Level>(l)))] = f.levels[l];
  return {{"microseconds", f.microseconds}, {"clocks", f.clocks}, {"clock_mhz", f.clock_mhz},
          {"matrix_share", f.matrix_share}, {"groups", f.groups}, {"timed_groups", f.timed_groups},
          {"sample_error", f.sample_error}, {"levels", levels}};
}

// Each wave of the unit has its SIMD, and four numbers per instruction: its index in the list, clocks since the one
// before, clocks that it was stalled, and the cause.
Json timeline_json(const KernelTimes& k, const std::vector<FlowInstruction>& flow) {
  std::map<std::uint32_t, std::size_t> numbers;
  for (std::size_t n = 0; n < flow.size(); ++n) numbers[flow[n].slot] = n;
  Json waves = Json::array();
  std::vector<std::uint64_t> before;
  for (const timing::Issue& issue : k.first.timeline.issues) {
    while (waves.size() <= issue.wave) {
      waves.push_back({{"simd", waves.size() % k.chip->simds}, {"issues", Json::array()}});
      before.push_back(0);
    }
    Json& list = waves[issue.wave]["issues"];
    list.push_back(numbers.at(issue.slot));
    list.push_back(issue.at - before[issue.wave]);
    list.push_back(issue.stalled);
    list.push_back(static_cast<unsigned>(issue.reason));
    before[issue.wave] = issue.at;
  }
  return {{"complete", k.first.timeline.complete}, {"waves", std::move(waves)}};
}

void add_code(Json& j, const KernelTimes& k) {
  std::vector<RunCounts> counts;
  for (const SlotTime& slot : k.slots) counts.push_back({slot.issued, slot.taken});
  const KernelCode code(*k.code, k.entry, counts);
  std::vector<SlotTime> each;
  for (const FlowInstruction& f : code.flow()) each.push_back(k.slots[f.slot]);

  Json& loops = j["loops"] = Json::array();
  for (const Loop& loop : code.loops()) {
    const LoopPlace p = code.place(loop);
    loops.push_back({{"header", p.header},
                     {"first", p.first},
                     {"last", p.last},
                     {"depth", loop.depth},
                     {"source", source_json(p.source)},
                     {"iterations", loop.iterations},
                     {"entries", loop.entries},
                     {"time", time_json(code.sum(loop, each))}});
  }
  Json& lines = j["lines"] = Json::array();
  if (code.has_lines())
    for (const auto& [source, time] : code.by_line(each))
      lines.push_back({{"source", source_json(source)}, {"time", time_json(time)}});
  if (!code.note().empty()) j["note"] = code.note();
  Json& blocks = j["blocks"] = Json::array();
  for (const Block& block : code.blocks())
    blocks.push_back({{"first", code.offset(code.flow()[block.first].slot)},
                      {"end", code.offset(code.flow()[block.last].next)},
                      {"time", time_json(code.sum(block, each))}});
  Json& instructions = j["instructions"] = Json::array();
  for (std::size_t n = 0; n < each.size(); ++n) {
    const Instruction& i = code.instructions()[n];
    const std::uint32_t slot = code.flow()[n].slot;
    instructions.push_back({{"offset", code.offset(slot)},
                            {"text", print(code.mode(), i)},
                            {"class", name(classify(effects(i, code.mode().lanes)))},
                            {"source", source_json(code.source(slot))},
                            {"time", time_json(each[n])}});
  }
  j["timeline"] = timeline_json(k, code.flow());
}

Json kernel_json(const KernelTimes& k) {
  Json j{{"name", k.name}, {"arch", name(k.chip->arch)}, {"chip", k.chip->name}};
  j["launch_count"] = k.launch_count;
  j["microseconds"] = k.microseconds;
  j["total_microseconds"] = k.total_microseconds;
  j["accuracy"] = accuracy_json(k);
  j["first_launch"] = first_json(k.first);
  SlotTime all;
  for (const SlotTime& slot : k.slots) all += slot;
  j["time"] = time_json(all);
  add_code(j, k);
  return j;
}

}  // namespace

std::string times_json(const std::vector<KernelTimes>& kernels) {
  Json j{{"format", "rapt-sim time 1"}, {"model", timing::model_name}};
  Json& list = j["kernels"] = Json::array();
  for (const KernelTimes& k : kernels) list.push_back(kernel_json(k));
  // Names may hold any bytes.
  return j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rapt::sim
