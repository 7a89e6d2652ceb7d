// One instruction and variants of it, run from the same state of a wave; everything that they leave behind is compared:
// registers, memory of every kind, program counter, modes, counters, faults.
#pragma once

#include "sim/isa/effects.hpp"
#include "sim/tests/support/instructions/any_scene.hpp"

#include <string>

namespace rapt::sim::test {

class InstructionTrial {
 public:
  explicit InstructionTrial(Target target);

  // Another state to start from, with another kind of numbers than the last.
  void renew(std::mt19937& random);

  enum class Ended : std::uint8_t { normally, with_fault, refused };
  // Makes the instruction the reference, prepares its registers so that it can run, and runs it.
  Ended begin(const Instruction& instruction, std::mt19937& random);
  struct Variant {
    Ended ended;
    bool differs;
  };
  // Another instruction of the same opcode, from the same state.
  Variant compare(const Instruction& variant);
  // Ends what begin() began. False if `watched` and registers were written that effects() does not name: compare()'s
  // results are then worthless.
  bool end(bool watched);
  // Compares all registers and memory, not only what the instruction's effects and format name.
  void look_everywhere(bool on) { everywhere_ = on; }

  const std::string& fault() const { return after_run_.fault; }  // of the reference

 private:
  struct Run {
    Ended ended = Ended::normally;
    std::string fault;
  };
  // A wave except for its VGPRs and memory.
  struct Scalars {
    Wave wave;
    Barrier barrier;
    std::uint32_t live_waves;
  };
  Wave& live() { return scene_.wave(); }
  Workgroup& group() { return *live().group; }
  std::size_t row_at(unsigned row) const { return std::size_t{row} * lanes_; }
  std::vector<unsigned> rows_written(const Effects& effects) const;
  bool same_time(const Instruction& variant, const Effects& effects);
  bool reaches_memory(const Instruction& instruction) const;
  void suit(const Instruction& instruction, std::mt19937& random);
  void clear_bytes(const Instruction& instruction, std::mt19937& random);
  void unalign(const Operand& address, std::mt19937& random);
  Run run(const Instruction& instruction);
  bool same_as(const Scalars& scalars);
  bool same_memory(const MachineState& state);
  void restore(const std::vector<unsigned>& rows, bool memory);

  unsigned lanes_;
  AnyScene scene_;
  unsigned kind_ = 0;  // of numbers
  bool everywhere_ = false;
  std::vector<unsigned> every_row_;
  // Registers and memory as renew() made them, before the instructions, and after the reference.
  MachineState fresh_, start_, after_;
  Scalars start_scalars_, after_scalars_;
  Run after_run_;
  std::vector<unsigned> suited_rows_, after_rows_;
  const Instruction* base_ = nullptr;
  Effects base_effects_;
  Handler handler_ = nullptr;
};

}  // namespace rapt::sim::test
