// A wave, with memory of every kind around it, in which any instruction runs without a fault; and its whole state, to
// set and to compare.
#pragma once

#include "sim/tests/support/memory_wave.hpp"

#include <span>

namespace rapt::sim::test {

// Everything that an instruction may change.
struct MachineState {
  std::vector<std::uint32_t> vgpr;  // rows of VGPRs, followed by AGPRs
  std::array<std::uint32_t, sreg::count> sgpr{};
  std::vector<unsigned char> memory, lds, scratch;
  std::uint32_t mode = 0, status = 0, trapsts = 0;
  std::uint64_t pc = 0;
  bool scc = false;
  WaveState wave = WaveState::running;
  std::uint32_t barrier_signalled = 0;
  bool operator==(const MachineState&) const = default;
};

class AnyScene {
 public:
  explicit AnyScene(Target target);

  // Random bits everywhere, all lanes in EXEC.
  MachineState random_state(std::mt19937& random) const;
  // Gives the registers that the instruction takes addresses, descriptors, indices and M0 from values that lead into
  // the scene's memory. `beyond`: some lanes go past the end of a buffer or of LDS, if that is not a fault.
  void make_valid(MachineState& state, const Instruction& instruction, std::mt19937& random, bool beyond) const;

  void set(const MachineState& state);
  void get(MachineState& state);
  // Runs one instruction that is not refused to its end: loads to LDS have arrived. A Fault is passed on. It does not
  // count as tested (tested.hpp): that is for tests which know the result.
  void run(const Instruction& instruction);

  Target target() const { return target_; }
  Wave& wave() { return wave_.wave(); }
  // Global memory, LDS, private memory: as in MachineState.
  std::array<std::span<unsigned char>, 3> memories();

 private:
  Target target_;
  MemoryWave wave_;
  Block memory_;
  std::uint32_t mode_;  // to begin with
};

// Instructions that run only with all lanes in EXEC.
bool needs_all_lanes(const Opcode& opcode);
// Rows that have no results: the simulator does not execute them, or they end the kernel.
bool is_refused(const Opcode& opcode, Target target);
// What LLVM decodes and the simulator refuses of other rows, because no document says what it means.
bool is_refused(const Instruction& instruction);

}  // namespace rapt::sim::test
