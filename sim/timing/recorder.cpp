#include "sim/timing/recorder.hpp"

#include "sim/machine/memory/flat_access.hpp"
#include "sim/timing/device_addresses.hpp"

#include <algorithm>

namespace rapt::sim::timing {
namespace {

// The lines that a global access touches, appended once each.
void add_lines(const Access& access, unsigned shift, std::size_t first, std::vector<std::uint64_t>& lines) {
  for_lanes(access.lanes, [&](unsigned lane) {
    const std::uint64_t last = (access.at[lane] + access.bytes - 1) >> shift;
    for (std::uint64_t line = access.at[lane] >> shift; line <= last; ++line)
      if (lines.size() == first || lines.back() != line) lines.push_back(line);
  });
  const auto begin = lines.begin() + static_cast<std::ptrdiff_t>(first);
  std::sort(begin, lines.end());
  lines.erase(std::unique(begin, lines.end()), lines.end());
}

const Entry& recorded_entry(const Program& program, std::uint32_t slot) {
  return program.at(program.base() + 4 * std::uint64_t{slot});
}

}  // namespace

void cut(WaveTrace& trace, std::size_t slots, const Program& program) {
  for (; trace.slots.size() > slots; trace.slots.pop_back()) {
    if (!has_request(recorded_entry(program, trace.slots.back()).effects)) continue;
    trace.lines.resize(trace.requests.back().first_line);
    trace.requests.pop_back();
  }
}

Recorder::Recorder(unsigned line_bytes, Extent extent, std::uint64_t resident_groups)
    : line_shift_(static_cast<unsigned>(std::countr_zero(line_bytes))),
      extent_(extent),
      resident_groups_(resident_groups) {}

void Recorder::begin_group(const Workgroup& group, std::uint64_t number) {
  trace_.number = number;
  trace_.instructions = trace_.lines = 0;
  trace_.waves.assign(group.waves.size(), {});
  program_ = group.program;
}

GroupTrace Recorder::end_group() {
  for (WaveTrace& wave : trace_.waves) {
    trace_.instructions += wave.slots.size();
    trace_.lines += wave.lines.size();
    cut(wave, extent_.kept, *program_);
    wave.slots.shrink_to_fit();
    wave.requests.shrink_to_fit();
    wave.lines.shrink_to_fit();
  }
  return std::move(trace_);
}

bool Recorder::full(const Workgroup& group) const {
  return std::all_of(group.waves.begin(), group.waves.end(), [this](const Wave& wave) {
    return wave.state == WaveState::ended || trace_.waves[wave.index].slots.size() >= extent_.most;
  });
}

void Recorder::before(Wave& wave, const Entry& entry) {
  WaveTrace& trace = trace_.waves[wave.index];
  recording_ = trace.slots.size() < extent_.most;
  keeping_ = trace.slots.size() < extent_.kept;
  if (!recording_) return;
  trace.slots.push_back(entry.slot);
  request_ = {static_cast<std::uint32_t>(trace.lines.size()), 0, 0, 0};
}

void Recorder::access(Wave& wave, const Instruction&, const Access& access) {
  if (!recording_) return;
  request_.bytes += access.bytes * static_cast<unsigned>(std::popcount(access.lanes));
  if (access.space == Space::lds) {
    if (!keeping_) return;
    request_.lds_clocks = static_cast<std::uint16_t>(request_.lds_clocks + count_access(wave, access).lds_clocks);
    return;
  }
  std::vector<std::uint64_t>& lines = trace_.waves[wave.index].lines;
  if (access.space == Space::scratch) {
    Access own = access;
    const std::vector<std::uint64_t> at = private_addresses(wave, access);
    own.at = at.data();
    add_lines(own, line_shift_, request_.first_line, lines);
  } else {
    add_lines(access, line_shift_, request_.first_line, lines);
  }
  request_.lines = static_cast<std::uint16_t>(lines.size() - request_.first_line);
}

std::vector<std::uint64_t> Recorder::private_addresses(const Wave& wave, const Access& access) const {
  const std::uint64_t bytes = std::uint64_t{wave.scratch_bytes_per_lane} * wave.lanes;
  const std::uint64_t begin =
      private_memory + (trace_.number % resident_groups_ * trace_.waves.size() + wave.index) * bytes;
  std::vector<std::uint64_t> at(wave.lanes);
  for_lanes(access.lanes, [&](unsigned lane) { at[lane] = access.at[lane] - wave.scratch_base + begin; });
  return at;
}

void Recorder::after(Wave& wave, const Entry& entry) {
  if (!recording_ || !has_request(entry.effects)) return;
  trace_.waves[wave.index].requests.push_back(request_);
}

void Recorder::skipped(const Wave& wave, const Entry& entry) {
  WaveTrace& trace = trace_.waves[wave.index];
  if (trace.slots.size() >= extent_.most) return;
  trace.slots.push_back(entry.slot);
  if (has_request(entry.effects)) trace.requests.push_back({static_cast<std::uint32_t>(trace.lines.size()), 0, 0, 0});
}

}  // namespace rapt::sim::timing
