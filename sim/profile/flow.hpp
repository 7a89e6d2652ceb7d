// Basic blocks and natural loops of the code that ran (Aho, Lam, Sethi, Ullman, "Compilers", 9.6: a back edge goes to
// a block that dominates its source).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rapt::sim {

// A static instruction that ran.
struct FlowInstruction {
  std::uint32_t slot = 0, next = 0;  // dwords from the start of the text: its own and the next one's
  std::uint64_t executed = 0, taken = 0;
  std::optional<std::uint32_t> target;  // of a branch, if the instruction holds it
  bool ends = false;                    // never continues with the next one: the end, or a jump through a register
};

struct Block {
  std::uint32_t first, last;  // indices of its instructions
  std::vector<std::uint32_t> successors, predecessors;
};

struct Loop {
  std::uint32_t header;                // block
  std::vector<std::uint32_t> latches;  // blocks that go back to it
  std::vector<std::uint32_t> blocks;   // in ascending order, with the blocks of inner loops
  std::uint64_t iterations = 0;        // how often the header ran
  std::uint64_t entries = 0;           // ... from outside
  int parent = -1;                     // the innermost loop around it, or -1
  unsigned depth = 0;                  // 0: in no other loop
};

struct Flow {
  std::vector<Block> blocks;  // ascending
  std::vector<Loop> loops;    // outer ones before inner ones, else by header
};

// instructions: ascending.
Flow find_flow(const std::vector<FlowInstruction>& instructions);

}  // namespace rapt::sim
