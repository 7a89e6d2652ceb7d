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

// A compare-and-swap counts as a load: one that succeeds in each round of a loop finds what another workgroup stored.
bool changes_memory(const Instruction& instruction, const Access& access) {
  return access.space == Space::global && access.action != Action::load && !is_compare_and_swap(instruction);
}

bool looks_at_clock(const Entry& entry) {
  const Effects& e = entry.effects;
  return (e.unit == Unit::smem && !e.loads && !e.writes().empty()) || e.unit == Unit::message ||
         (e.unit == Unit::salu && entry.instruction.opcode->name.starts_with("s_getreg"));
}

}  // namespace

void cut(WaveTrace& trace, std::size_t slots, const Program& program) {
  for (; trace.slots.size() > slots; trace.slots.pop_back()) {
    if (!has_request(entry_at(program, trace.slots.back())->effects)) continue;
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
  waits_.assign(group.waves.size(), {});
  effects_ = 0;
  if (program_ != group.program) loops_.clear();
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

bool Recorder::waits() const {
  constexpr std::uint64_t many = 1000;
  return std::any_of(waits_.begin(), waits_.end(), [](const Wait& wait) { return wait.rounds > many; });
}

bool Recorder::works(const Workgroup& group) const {
  return std::any_of(group.waves.begin(), group.waves.end(), [this](const Wave& wave) {
    const bool runs = wave.state == WaveState::running || wave.state == WaveState::sleeping;
    return runs && !waits_[wave.index].inside;
  });
}

const Entry& Recorder::entry_at(std::uint32_t slot) const {
  return program_->at(program_->base() + 4 * std::uint64_t{slot});
}

const CodeLoop* Recorder::wait_loop(CodeLoop round) {
  const auto [found, added] = loops_.try_emplace({round.head, round.latch});
  if (added) {
    const CodeLoop loop = to_last_latch(*program_, round);
    if (is_wait_loop(*program_, loop)) found->second = loop;
  }
  return found->second ? &*found->second : nullptr;
}

// Before the wave's next instruction.
void Recorder::follow(WaveTrace& trace, Wait& wait, const Entry& entry) {
  const std::uint32_t slot = entry.slot;
  const bool back = slot <= wait.last;
  if (wait.inside && back && slot == wait.loop.head) {
    cut(trace, wait.begin, *program_);
    ++wait.rounds;
  } else if (wait.inside && !wait.loop.contains(slot)) {
    leave(trace, wait, slot);
  } else if (const std::uint32_t head = back ? slot : wait.not_back_to; !wait.inside && head <= wait.last) {
    const CodeLoop* const loop = wait_loop({head, wait.last});
    if (loop && enter(trace, wait, *loop)) {
      if (back) cut(trace, wait.begin, *program_);
      else if (!loop->contains(slot)) leave(trace, wait, slot);
    }
  }
  wait.last = slot;
  wait.not_back_to = entry.effects.unit == Unit::branch ? branch_target(entry).value_or(no_slot) : no_slot;
}

// After the first round, which could not be known to be one.
bool Recorder::enter(const WaveTrace& trace, Wait& wait, CodeLoop loop) const {
  const auto head = std::find(trace.slots.rbegin(), trace.slots.rend(), loop.head);
  const bool recorded = head != trace.slots.rend() && std::all_of(trace.slots.rbegin(), head, [&](std::uint32_t slot) {
                          return loop.contains(slot);
                        });
  const bool full = trace.slots.size() >= extent_.most;  // perhaps before this round
  if (!recorded && !full) return false;
  wait.loop = loop;
  wait.inside = true;
  wait.begin = recorded ? static_cast<std::size_t>(trace.slots.rend() - head) - 1 : trace.slots.size();
  wait.rounds = 1;
  wait.looks.clear();
  std::size_t request = trace.requests.size();
  for (std::size_t n = trace.slots.size(); n > wait.begin; --n) {
    if (!has_request(entry_at(trace.slots[n - 1]).effects)) continue;
    const Request& r = trace.requests[--request];
    const auto first = trace.lines.begin() + r.first_line;
    wait.looks.push_back({trace.slots[n - 1], r, {first, first + r.lines}});
  }
  return true;
}

// Where the code looks once before the loop, and does not enter it if the wait is over by then, it counts as not
// entered: cut behind the branch that would have gone to the same place.
void Recorder::leave(WaveTrace& trace, Wait& wait, std::uint32_t to) {
  wait.inside = false;
  std::size_t n = wait.begin;
  while (n > 0 && entry_at(trace.slots[n - 1]).effects.unit != Unit::branch &&
         !has_request(entry_at(trace.slots[n - 1]).effects))
    --n;
  if (n == 0 || branch_target(entry_at(trace.slots[n - 1])) != to) return;
  std::size_t request = trace.requests.size();
  for (std::size_t m = n; m < trace.slots.size(); ++m) request -= has_request(entry_at(trace.slots[m]).effects);
  if (request == 0 || wait.looks.empty()) return;
  const Request& look = trace.requests[request - 1];
  const auto first = trace.lines.begin() + look.first_line;
  const std::vector<std::uint64_t>& lines = wait.looks.back().lines;
  if (std::equal(first, first + look.lines, lines.begin(), lines.end())) cut(trace, n, *program_);
}

// In place of the request that was just recorded.
void Recorder::repeat_first_look(WaveTrace& trace, Wait& wait, std::uint32_t slot) {
  const auto look = std::find_if(wait.looks.begin(), wait.looks.end(), [&](const Look& l) { return l.slot == slot; });
  Request& request = trace.requests.back();
  const auto first = trace.lines.begin() + request.first_line;
  if (look == wait.looks.end()) {
    wait.looks.push_back({slot, request, {first, trace.lines.end()}});
    return;
  }
  trace.lines.erase(first, trace.lines.end());
  trace.lines.insert(trace.lines.end(), look->lines.begin(), look->lines.end());
  const std::uint32_t begin = request.first_line;
  request = look->request;
  request.first_line = begin;
}

void Recorder::before(Wave& wave, const Entry& entry) {
  WaveTrace& trace = trace_.waves[wave.index];
  follow(trace, waits_[wave.index], entry);
  effects_ += looks_at_clock(entry);
  recording_ = trace.slots.size() < extent_.most;
  keeping_ = trace.slots.size() < extent_.kept;
  if (!recording_) return;
  trace.slots.push_back(entry.slot);
  request_ = {static_cast<std::uint32_t>(trace.lines.size()), 0, 0, 0};
}

void Recorder::access(Wave& wave, const Instruction& instruction, const Access& access) {
  effects_ += changes_memory(instruction, access);
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
  WaveTrace& trace = trace_.waves[wave.index];
  trace.requests.push_back(request_);
  if (Wait& wait = waits_[wave.index]; wait.inside) repeat_first_look(trace, wait, entry.slot);
}

void Recorder::skipped(const Wave& wave, const Entry& entry) {
  WaveTrace& trace = trace_.waves[wave.index];
  follow(trace, waits_[wave.index], entry);
  if (trace.slots.size() >= extent_.most) return;
  trace.slots.push_back(entry.slot);
  if (has_request(entry.effects)) trace.requests.push_back({static_cast<std::uint32_t>(trace.lines.size()), 0, 0, 0});
}

}  // namespace rapt::sim::timing
