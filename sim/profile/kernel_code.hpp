// The code of a kernel as it ran, for reports: its instructions, basic blocks, loops and source lines.
#pragma once

#include "sim/profile/code_copy.hpp"
#include "sim/profile/flow.hpp"
#include "sim/profile/line_table.hpp"

#include <algorithm>
#include <map>
#include <string>

namespace rapt::sim {

struct Source {
  std::string file;  // empty: not known
  std::uint32_t line = 0;
  auto operator<=>(const Source&) const = default;
};

// How often one static instruction ran, and how often it did not continue with the next one.
struct RunCounts {
  std::uint64_t executed = 0, taken = 0;
};

// Where a loop is: bytes from the kernel's entry.
struct LoopPlace {
  std::int64_t header, first, last;  // its first instruction; the lowest and the highest of all
  std::vector<std::int64_t> latches;
  Source source;  // of the header
};

class KernelCode {
 public:
  // entry: the kernel's, in dwords from the start of the text; counts: one per dword of the text.
  KernelCode(const CodeCopy& code, std::uint32_t entry, const std::vector<RunCounts>& counts);

  // The instructions that ran, ascending, and by the same numbers what they do there.
  const std::vector<Instruction>& instructions() const { return instructions_; }
  const std::vector<FlowInstruction>& flow() const { return flow_; }
  const std::vector<Block>& blocks() const { return graph_.blocks; }  // of these numbers
  const std::vector<Loop>& loops() const { return graph_.loops; }
  DecodeMode mode() const { return mode_; }

  std::int64_t offset(std::uint32_t slot) const { return (std::int64_t{slot} - entry_) * 4; }
  LoopPlace place(const Loop& loop) const;
  bool has_lines() const { return found_text_ && !table_.empty(); }
  Source source(std::uint32_t slot) const;
  const std::string& note() const { return note_; }  // why there are no lines although there is debug information

  // The sums of a quantity of each instruction, by its number, over a block, a loop, or each source line (by file and
  // line; code without a line is last).
  template <typename T>
  T sum(const Block& block, const std::vector<T>& each) const {
    T total{};
    for (std::uint32_t n = block.first; n <= block.last; ++n) total += each[n];
    return total;
  }
  template <typename T>
  T sum(const Loop& loop, const std::vector<T>& each) const {
    T total{};
    for (const std::uint32_t block : loop.blocks) total += sum(graph_.blocks[block], each);
    return total;
  }
  template <typename T>
  std::vector<std::pair<Source, T>> by_line(const std::vector<T>& each) const {
    std::map<Source, T> sums;
    for (std::size_t n = 0; n < flow_.size(); ++n) sums[source(flow_[n].slot)] += each[n];
    std::vector<std::pair<Source, T>> list(sums.begin(), sums.end());
    if (!list.empty() && list.front().first.file.empty()) std::rotate(list.begin(), list.begin() + 1, list.end());
    return list;
  }

 private:
  void add(std::uint32_t slot, const Instruction& i, RunCounts counts);
  void read_lines(const CodeCopy& code);

  DecodeMode mode_;
  std::uint32_t entry_;
  std::vector<Instruction> instructions_;
  std::vector<FlowInstruction> flow_;
  Flow graph_;
  LineTable table_;
  std::uint64_t base_ = 0;  // of the text, in the file's addresses
  bool found_text_ = false;
  std::string note_;
};

}  // namespace rapt::sim
