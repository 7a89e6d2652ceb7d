#include "sim/profile/report.hpp"

#include "sim/isa/properties.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

std::vector<RunCounts> run_counts(const KernelProfile& kernel) {
  std::vector<RunCounts> counts;
  for (const SlotCounts& slot : kernel.slots) counts.push_back({slot.executed, slot.taken});
  return counts;
}

// The totals of each instruction that ran.
std::vector<Totals> each_total(const KernelProfile& kernel, const KernelCode& code) {
  std::vector<Totals> list;
  const DecodeMode mode = code.mode();
  for (std::size_t n = 0; n < code.flow().size(); ++n) {
    const Instruction& i = code.instructions()[n];
    const SlotCounts& counts = kernel.slots[code.flow()[n].slot];
    const Effects e = effects(i, mode.lanes);
    const Clocks c = clocks(i, e, mode.arch, mode.lanes);
    Totals t;
    const std::uint64_t ran = counts.executed - counts.skipped;
    t.instructions = t.classes[static_cast<unsigned>(classify(e))] = ran;
    t.issue = counts.executed * c.issue;
    for (unsigned p = 0; p < pipe_count; ++p) t.clocks[p] = ran * c.taken[p];
    t.memory = counts.memory;
    list.push_back(t);
  }
  return list;
}

}  // namespace

std::vector<Bound> bounds(const Totals& totals, std::uint64_t memory_bytes, Arch arch) {
  const Properties& device = properties(arch);
  const double clocks_per_microsecond = device.clock_khz / 1e3;
  std::vector<Bound> list;
  const auto add = [&](std::string_view pipe, double unit_clocks) {
    list.push_back({pipe, unit_clocks, unit_clocks / device.compute_units / clocks_per_microsecond});
  };
  for (unsigned p = 0; p < pipe_count; ++p) {
    const Pipe pipe{static_cast<std::uint8_t>(p)};
    add(name(pipe), static_cast<double>(totals.clocks[p]) / pipes_per_unit(pipe, arch));
  }
  add("LDS", static_cast<double>(totals.memory.lds_clocks));
  const double bytes_per_clock = device.memory_gigabytes_per_second * 1e3 / clocks_per_microsecond;
  add("memory", static_cast<double>(memory_bytes) / bytes_per_clock * device.compute_units);
  return list;
}

const Bound& largest(const std::vector<Bound>& bounds) {
  return *std::max_element(bounds.begin(), bounds.end(),
                           [](const Bound& a, const Bound& b) { return a.unit_clocks < b.unit_clocks; });
}

KernelReport analyse(const KernelProfile& kernel) {
  const KernelCode code(*kernel.code, kernel.entry, run_counts(kernel));
  const std::vector<Totals> each = each_total(kernel, code);
  KernelReport report;
  report.note = code.note();
  for (const Block& block : code.blocks()) {
    const FlowInstruction &first = code.flow()[block.first], &last = code.flow()[block.last];
    report.blocks.push_back({code.offset(first.slot), code.offset(last.next), first.executed, code.sum(block, each)});
    report.totals += report.blocks.back().totals;
  }
  const std::uint64_t sectors = report.totals.memory.sectors64;
  for (const Loop& loop : code.loops()) {
    LoopReport r{code.place(loop), loop.iterations, loop.entries, loop.parent, loop.depth, code.sum(loop, each), 0};
    if (sectors != 0)
      r.memory_bytes =
          static_cast<std::uint64_t>(static_cast<double>(kernel.footprint) *
                                     static_cast<double>(r.totals.memory.sectors64) / static_cast<double>(sectors));
    report.loops.push_back(std::move(r));
  }
  if (code.has_lines())
    for (const auto& [source, totals] : code.by_line(each)) report.lines.push_back({source, totals});
  return report;
}

}  // namespace rapt::sim
