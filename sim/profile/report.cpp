#include "sim/profile/report.hpp"

#include "sim/isa/properties.hpp"
#include "sim/loader/elf.hpp"
#include "sim/profile/line_table.hpp"

#include <algorithm>
#include <map>

namespace rapt::sim {
namespace {

// The decoded instructions that ran, and what they counted.
class Code {
 public:
  explicit Code(const KernelProfile& kernel) : kernel_(kernel) {
    const CodeCopy& code = *kernel.code;
    std::vector<std::uint32_t> words(code.text.size() / 4);
    std::memcpy(words.data(), code.text.data(), words.size() * 4);
    for (std::uint32_t slot = 0; slot < kernel.slots.size(); ++slot)
      if (kernel.slots[slot].executed != 0)
        if (const auto i = decode(code.mode, std::span(words).subspan(slot))) add(slot, *i);
  }

  const std::vector<FlowInstruction>& flow() const { return flow_; }
  const Totals& totals(std::size_t n) const { return totals_[n]; }
  std::int64_t offset(std::uint32_t slot) const { return (std::int64_t{slot} - kernel_.entry) * 4; }

 private:
  void add(std::uint32_t slot, const Instruction& i) {
    const SlotCounts& counts = kernel_.slots[slot];
    const DecodeMode mode = kernel_.code->mode;
    const Effects e = effects(i, mode.lanes);
    const Clocks c = clocks(i, e, mode.arch, mode.lanes);
    Totals t;
    const std::uint64_t ran = counts.executed - counts.skipped;
    t.instructions = t.classes[static_cast<unsigned>(classify(e))] = ran;
    t.issue = counts.executed * c.issue;
    for (unsigned p = 0; p < pipe_count; ++p) t.clocks[p] = ran * c.taken[p];
    t.memory = counts.memory;
    totals_.push_back(t);

    FlowInstruction f{slot, slot + i.size / 4, counts.executed, counts.taken, {}, false};
    const std::string_view name = i.opcode->name;
    const bool calls = name.starts_with("s_call") || name.starts_with("s_swappc");
    if (name.starts_with("s_branch") || name.starts_with("s_cbranch") || name.starts_with("s_subvector_loop"))
      f.target = static_cast<std::uint32_t>(std::int64_t{f.next} + i.immediate);
    f.ends = name.starts_with("s_endpgm") || name.starts_with("s_setpc") || name.starts_with("s_rfe");
    if (calls) f.taken = 0;  // it returns
    flow_.push_back(f);
  }

  const KernelProfile& kernel_;
  std::vector<FlowInstruction> flow_;
  std::vector<Totals> totals_;
};

// Source lines of slots.
class Lines {
 public:
  explicit Lines(const CodeCopy& code) {
    if (code.file.empty()) return;
    try {
      table_ = LineTable::of_file(code.file);
      for (const Elf64_Phdr& s : elf::segments(code.file, elf::header(code.file)))
        if (s.p_type == PT_LOAD && (s.p_flags & PF_X) && !found_) base_ = s.p_vaddr, found_ = true;
    } catch (const LoadError& failure) {
      table_ = {};
      note = std::string("debug information is broken: ") + failure.what();
    }
  }
  bool known() const { return found_ && !table_.empty(); }
  Source at(std::uint32_t slot) const {
    const SourceLine* line = known() ? table_.find(base_ + 4 * std::uint64_t{slot}) : nullptr;
    return line ? Source{table_.files()[line->file], line->line} : Source{};
  }
  std::string note;

 private:
  LineTable table_;
  std::uint64_t base_ = 0;  // of the text, in the file's addresses
  bool found_ = false;
};

Totals sum(const Code& code, const Block& block) {
  Totals totals;
  for (std::uint32_t n = block.first; n <= block.last; ++n) totals += code.totals(n);
  return totals;
}

LoopReport report_loop(const Loop& loop, const Flow& flow, const Code& code, const Lines& lines) {
  const auto& instructions = code.flow();
  const auto offset = [&](std::uint32_t n) { return code.offset(instructions[n].slot); };
  LoopReport r{};
  r.header = offset(flow.blocks[loop.header].first);
  r.first = offset(flow.blocks[loop.blocks.front()].first);
  r.last = offset(flow.blocks[loop.blocks.back()].last);
  for (const std::uint32_t latch : loop.latches) r.latches.push_back(offset(flow.blocks[latch].last));
  r.iterations = loop.iterations, r.entries = loop.entries;
  r.parent = loop.parent, r.depth = loop.depth;
  r.source = lines.at(instructions[flow.blocks[loop.header].first].slot);
  for (const std::uint32_t block : loop.blocks) r.totals += sum(code, flow.blocks[block]);
  return r;
}

std::vector<LineReport> report_lines(const Code& code, const Lines& lines) {
  std::map<std::pair<std::string, std::uint32_t>, Totals> by_line;
  for (std::size_t n = 0; n < code.flow().size(); ++n) {
    const Source source = lines.at(code.flow()[n].slot);
    by_line[{source.file, source.line}] += code.totals(n);
  }
  std::vector<LineReport> list;
  for (const auto& [key, totals] : by_line) list.push_back({{key.first, key.second}, totals});
  if (!list.empty() && list.front().source.file.empty()) std::rotate(list.begin(), list.begin() + 1, list.end());
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
  const Code code(kernel);
  const Lines lines(*kernel.code);
  const Flow flow = find_flow(code.flow());
  KernelReport report;
  report.note = lines.note;
  for (const Block& block : flow.blocks) {
    const FlowInstruction &first = code.flow()[block.first], &last = code.flow()[block.last];
    report.blocks.push_back({code.offset(first.slot), code.offset(last.next), first.executed, sum(code, block)});
    report.totals += report.blocks.back().totals;
  }
  const std::uint64_t sectors = report.totals.memory.sectors64;
  for (const Loop& loop : flow.loops) {
    report.loops.push_back(report_loop(loop, flow, code, lines));
    LoopReport& r = report.loops.back();
    if (sectors != 0)
      r.memory_bytes =
          static_cast<std::uint64_t>(static_cast<double>(kernel.footprint) *
                                     static_cast<double>(r.totals.memory.sectors64) / static_cast<double>(sectors));
  }
  if (lines.known()) report.lines = report_lines(code, lines);
  return report;
}

}  // namespace rapt::sim
