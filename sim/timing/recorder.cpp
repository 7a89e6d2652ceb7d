#include "sim/timing/recorder.hpp"

#include "sim/machine/core/program.hpp"
#include "sim/machine/memory/flat_access.hpp"

#include <algorithm>

namespace rapt::sim::timing {
namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {  // after Knuth's multiplicative hashing
  return (hash ^ value) * 0x9e3779b97f4a7c15 + (hash >> 29);
}

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

}  // namespace

Recorder::Recorder(unsigned line_bytes, std::uint64_t most)
    : line_shift_(static_cast<unsigned>(std::countr_zero(line_bytes))), most_(most) {}

void Recorder::begin_group(const Workgroup& group, std::uint64_t number) {
  trace_.number = number;
  trace_.waves.assign(group.waves.size(), {});
  loops_.assign(group.waves.size(), {});
}

GroupTrace Recorder::end_group() {
  for (WaveTrace& wave : trace_.waves) {
    wave.slots.shrink_to_fit();
    wave.requests.shrink_to_fit();
    wave.lines.shrink_to_fit();
  }
  return std::move(trace_);
}

bool Recorder::full(const Workgroup& group) const {
  return std::all_of(group.waves.begin(), group.waves.end(), [this](const Wave& wave) {
    return wave.state == WaveState::ended || trace_.waves[wave.index].slots.size() >= most_;
  });
}

bool Recorder::waits() const {
  constexpr std::uint64_t many = 1000;
  return std::any_of(loops_.begin(), loops_.end(), [](const Loop& loop) { return loop.repeated > many; });
}

void Recorder::end_round(WaveTrace& trace, Loop& loop, std::uint32_t head) {
  const bool same = loop.head == head && loop.loads && !loop.works && loop.signature == loop.previous;
  if (same) {
    trace.slots.resize(loop.slots);
    trace.requests.resize(loop.requests);
    trace.lines.resize(loop.lines);
  }
  const std::uint64_t previous = loop.head == head ? loop.signature : 0, repeated = same ? loop.repeated + 1 : 0;
  loop = {head, trace.slots.size(), trace.requests.size(), trace.lines.size(), 0, previous, false, false, repeated};
}

void Recorder::before(Wave& wave, const Entry& entry) {
  WaveTrace& trace = trace_.waves[wave.index];
  recording_ = trace.slots.size() < most_;
  if (!recording_) return;
  Loop& loop = loops_[wave.index];
  if (!trace.slots.empty() && entry.slot <= trace.slots.back()) end_round(trace, loop, entry.slot);
  loop.signature = mix(loop.signature, entry.slot);
  loop.works |= entry.effects.unit == Unit::matrix || entry.effects.stores;
  trace.slots.push_back(entry.slot);
  request_ = {static_cast<std::uint32_t>(trace.lines.size()), 0, 0, 0};
}

void Recorder::access(Wave& wave, const Instruction&, const Access& access) {
  if (!recording_) return;
  Loop& loop = loops_[wave.index];
  loop.loads |= access.space == Space::global;
  for_lanes(access.lanes, [&](unsigned lane) { loop.signature = mix(loop.signature, access.at[lane]); });
  request_.bytes += access.bytes * static_cast<unsigned>(std::popcount(access.lanes));
  if (access.space == Space::lds) {
    request_.lds_clocks = static_cast<std::uint16_t>(request_.lds_clocks + count_access(wave, access).lds_clocks);
    return;
  }
  std::vector<std::uint64_t>& lines = trace_.waves[wave.index].lines;
  add_lines(access, line_shift_, request_.first_line, lines);
  request_.lines = static_cast<std::uint16_t>(lines.size() - request_.first_line);
}

void Recorder::after(Wave& wave, const Entry& entry) {
  if (!recording_) return;
  if (has_request(entry.effects)) trace_.waves[wave.index].requests.push_back(request_);
}

void Recorder::skipped(const Wave& wave, const Entry& entry) {
  WaveTrace& trace = trace_.waves[wave.index];
  if (trace.slots.size() >= most_) return;
  trace.slots.push_back(entry.slot);
  if (has_request(entry.effects)) trace.requests.push_back({static_cast<std::uint32_t>(trace.lines.size()), 0, 0, 0});
}

}  // namespace rapt::sim::timing
