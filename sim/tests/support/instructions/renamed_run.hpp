// Runs an instruction twice, with its operands in two sets of registers that hold the same values, and compares all
// results. The reference is the run in which no two operands share a register.
#pragma once

#include "sim/tests/support/instructions/any_instruction.hpp"
#include "sim/tests/support/instructions/any_scene.hpp"

namespace rapt::sim::test {

struct Conditions {
  std::uint64_t exec = ~std::uint64_t{0};
  bool beyond = false;  // AnyScene::make_valid
  std::uint32_t mode = mode::denorm_f32 | mode::denorm_f16_f64 | mode::dx10_clamp | mode::ieee;
};

class RenamedRun {
 public:
  explicit RenamedRun(Target target);
  // "", or what differs. The instructions have the same operands except for the registers' numbers.
  std::string difference(const Instruction& overlapping, const Instruction& apart, const Conditions& conditions,
                         std::mt19937& random);

 private:
  // A VGPR's row, or an SGPR: VGPRs from 0 on, AGPRs from 256 on, SGPRs from 512 on.
  using Unit = unsigned;
  static constexpr Unit first_sgpr = 512;
  struct Name {
    Unit overlapping, apart;
  };
  struct Flag {
    unsigned sgpr;
    std::uint32_t value;
  };

  void refresh(std::mt19937& random);
  void name_registers(const Instruction& overlapping, const Instruction& apart);
  void name_flag(const Operand& flag, const Operand& apart);
  unsigned moved_by(const Instruction& i, unsigned slot) const;
  std::span<std::uint32_t> unit(std::uint32_t* vgpr, std::uint32_t* sgpr, Unit u) const;
  std::span<std::uint32_t> in(MachineState& s, Unit u) const { return unit(s.vgpr.data(), s.sgpr.data(), u); }
  std::span<std::uint32_t> in(Wave& w, Unit u) const { return unit(w.vgpr, w.sgpr, u); }
  void copy_touched(MachineState& to, MachineState& from);
  std::string run(const Instruction& i, MachineState& from);
  std::string expect();
  std::string compare();
  void restore_memory();

  Target target_;
  AnyScene scene_;
  std::vector<std::uint32_t> pool_;  // random words
  unsigned runs_ = 0;
  // base_ is what the scene holds between runs; the others are equal to it except for touched_.
  MachineState base_, before_, apart_, after_;
  std::vector<Name> names_;
  std::vector<Flag> flags_;  // SCC and the like as sources: where the reference holds the value
  std::vector<Unit> touched_;
  std::uint32_t mode_ = 0;
  bool with_memory_ = false;
};

}  // namespace rapt::sim::test
