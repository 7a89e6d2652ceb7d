#include "sim/profile/report.hpp"

#include "sim/isa/properties.hpp"
#include "sim/profile/source_json.hpp"

namespace rapt::sim {
namespace {

using Json = nlohmann::ordered_json;

Json totals_json(const Totals& t) {
  Json j;
  j["instructions"] = t.instructions;
  Json& classes = j["classes"] = Json::object();
  for (unsigned c = 0; c < class_count; ++c)
    if (t.classes[c] != 0) classes[std::string(name(InstructionClass{static_cast<std::uint8_t>(c)}))] = t.classes[c];
  Json& clocks = j["clocks"] = {{"issue", t.issue}};
  for (unsigned p = 0; p < pipe_count; ++p) clocks[std::string(name(Pipe{static_cast<std::uint8_t>(p)}))] = t.clocks[p];
  const MemoryCounts& m = t.memory;
  j["memory"] = {{"bytes", m.bytes},
                 {"sectors32", m.sectors32},
                 {"sectors64", m.sectors64},
                 {"scalar_bytes", m.scalar_bytes},
                 {"lds_bytes", m.lds_bytes},
                 {"lds_clocks", m.lds_clocks},
                 {"lds_conflict_clocks", m.lds_conflicts}};
  return j;
}

void add_bounds(Json& j, const Totals& totals, std::uint64_t memory_bytes, Arch arch) {
  const auto list = bounds(totals, memory_bytes, arch);
  Json& out = j["bounds"] = Json::array();
  for (const Bound& b : list)
    out.push_back({{"pipe", b.pipe}, {"unit_clocks", b.unit_clocks}, {"microseconds", b.microseconds}});
  j["bound_by"] = largest(list).pipe;
}

Json wave_json(const WaveCounts& w) {
  Json j{{"workgroup", w.group}, {"wave", w.wave}, {"cycles", w.cycles}};
  j["totals"] = totals_json(w.totals);
  return j;
}

Json launch_json(const LaunchRecord& r) {
  Json j{{"workgroups", r.groups}, {"workgroup_size", r.group_size}, {"lds_bytes", r.lds_bytes}};
  if (!r.failure.empty()) j["failure"] = r.failure;
  j["cycles"] = r.cycles;
  j["instructions"] = r.instructions;
  j["footprint_bytes"] = r.footprint;
  j["wave_count"] = r.wave_count;
  j["mean_wave_cycles"] =
      r.wave_count == 0 ? 0 : static_cast<double>(r.wave_cycles) / static_cast<double>(r.wave_count);
  if (r.wave_count != 0) j["longest_wave"] = wave_json(r.longest);
  Json& waves = j["waves"] = Json::array();
  for (const WaveCounts& w : r.waves) waves.push_back(wave_json(w));
  return j;
}

Json loop_json(const LoopReport& l, Arch arch) {
  Json j{{"header", l.header}, {"latches", l.latches}, {"first", l.first}, {"last", l.last}};
  if (l.parent >= 0) j["parent"] = l.parent;
  j["depth"] = l.depth;
  j["source"] = source_json(l.source);
  j["iterations"] = l.iterations;
  j["entries"] = l.entries;
  j["totals"] = totals_json(l.totals);
  add_bounds(j, l.totals, l.memory_bytes, arch);
  return j;
}

Json kernel_json(const KernelProfile& k) {
  const KernelReport report = analyse(k);
  const Arch arch = k.code->mode.arch;
  const Properties& device = properties(arch);
  Json j{{"name", k.name}, {"arch", name(arch)}, {"lanes", k.code->mode.lanes}};
  j["device"] = {{"product", device.product},
                 {"compute_units", device.compute_units},
                 {"clock_mhz", device.clock_khz / 1000},
                 {"gigabytes_per_second", device.memory_gigabytes_per_second}};
  j["registers"] = {{"vgprs", k.vgprs}, {"agprs", k.agprs}, {"sgprs", k.sgprs}};
  j["launch_count"] = k.launch_count;
  j["workgroup_count"] = k.groups;
  j["wave_count"] = k.waves;
  j["cycles"] = k.cycles;
  j["longest_wave_cycles"] = k.longest_wave_cycles;
  j["footprint_bytes"] = k.footprint;
  j["totals"] = totals_json(report.totals);
  add_bounds(j, report.totals, k.footprint, arch);
  Json& loops = j["loops"] = Json::array();
  for (const LoopReport& l : report.loops) loops.push_back(loop_json(l, arch));
  Json& lines = j["lines"] = Json::array();
  for (const LineReport& l : report.lines)
    lines.push_back({{"source", source_json(l.source)}, {"totals", totals_json(l.totals)}});
  Json& blocks = j["blocks"] = Json::array();
  for (const BlockReport& b : report.blocks)
    blocks.push_back({{"first", b.first}, {"end", b.end}, {"executed", b.executed}, {"totals", totals_json(b.totals)}});
  if (!report.note.empty()) j["note"] = report.note;
  Json& launches = j["launches"] = Json::array();
  for (const LaunchRecord& r : k.launches) launches.push_back(launch_json(r));
  return j;
}

}  // namespace

std::string report_json(const std::vector<KernelProfile>& kernels) {
  Json j{{"format", "rapt-sim profile 1"}};
  Json& list = j["kernels"] = Json::array();
  for (const KernelProfile& k : kernels) list.push_back(kernel_json(k));
  // Names may hold any bytes.
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rapt::sim
