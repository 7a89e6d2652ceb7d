#include "sim/profile/kernel_code.hpp"

#include "sim/loader/elf.hpp"

#include <cstring>

namespace rapt::sim {

KernelCode::KernelCode(const CodeCopy& code, std::uint32_t entry, const std::vector<RunCounts>& counts)
    : mode_(code.mode), entry_(entry) {
  std::vector<std::uint32_t> words(code.text.size() / 4);
  std::memcpy(words.data(), code.text.data(), words.size() * 4);
  for (std::uint32_t slot = 0; slot < counts.size(); ++slot)
    if (counts[slot].executed != 0)
      if (const auto i = decode(mode_, std::span(words).subspan(slot))) add(slot, *i, counts[slot]);
  graph_ = find_flow(flow_);
  if (!code.file.empty()) read_lines(code);
}

void KernelCode::add(std::uint32_t slot, const Instruction& i, RunCounts counts) {
  FlowInstruction f{slot, slot + i.size / 4, counts.executed, counts.taken, {}, false};
  const std::string_view name = i.opcode->name;
  const bool calls = name.starts_with("s_call") || name.starts_with("s_swappc");
  if (name.starts_with("s_branch") || name.starts_with("s_cbranch") || name.starts_with("s_subvector_loop"))
    f.target = static_cast<std::uint32_t>(std::int64_t{f.next} + i.immediate);
  f.ends = name.starts_with("s_endpgm") || name.starts_with("s_setpc") || name.starts_with("s_rfe");
  if (calls) f.taken = 0;  // it returns
  flow_.push_back(f);
  instructions_.push_back(i);
}

void KernelCode::read_lines(const CodeCopy& code) {
  try {
    table_ = LineTable::of_file(code.file);
    for (const Elf64_Phdr& s : elf::segments(code.file, elf::header(code.file)))
      if (s.p_type == PT_LOAD && (s.p_flags & PF_X) && !found_text_) base_ = s.p_vaddr, found_text_ = true;
  } catch (const LoadError& failure) {
    table_ = {};
    note_ = std::string("debug information is broken: ") + failure.what();
  }
}

Source KernelCode::source(std::uint32_t slot) const {
  const SourceLine* line = has_lines() ? table_.find(base_ + 4 * std::uint64_t{slot}) : nullptr;
  return line ? Source{table_.files()[line->file], line->line} : Source{};
}

LoopPlace KernelCode::place(const Loop& loop) const {
  const auto at = [&](std::uint32_t n) { return offset(flow_[n].slot); };
  const Block& header = graph_.blocks[loop.header];
  LoopPlace p{at(header.first),
              at(graph_.blocks[loop.blocks.front()].first),
              at(graph_.blocks[loop.blocks.back()].last),
              {},
              source(flow_[header.first].slot)};
  for (const std::uint32_t latch : loop.latches) p.latches.push_back(at(graph_.blocks[latch].last));
  return p;
}

}  // namespace rapt::sim
