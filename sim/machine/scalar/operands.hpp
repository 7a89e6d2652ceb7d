// Scalar sources and destinations.
#pragma once

#include "sim/machine/core/fault.hpp"
#include "sim/machine/core/wave.hpp"

#include <string>

namespace rapt::sim {

// The 64-bit apertures of flat addresses: LDS and private memory (kernels compare the upper dword).
inline constexpr std::uint64_t shared_aperture = std::uint64_t{1} << 48;
inline constexpr std::uint64_t private_aperture = std::uint64_t{2} << 48;

namespace source_code {
inline constexpr unsigned shared_base = 235, shared_limit = 236, private_base = 237, private_limit = 238;
inline constexpr unsigned pops_exiting_wave_id = 239, vccz = 251, execz = 252, scc = 253, lds_direct = 254;
}  // namespace source_code

inline std::uint64_t read_special(const Wave& wave, const Operand& operand) {
  switch (operand.index) {
    case source_code::shared_base: return shared_aperture;
    case source_code::shared_limit: return shared_aperture | 0xffffffff;
    case source_code::private_base: return private_aperture;
    case source_code::private_limit: return private_aperture | 0xffffffff;
    case source_code::vccz: return (wave.lanes == 32 ? wave.sgpr[sreg::vcc] : wave.pair(sreg::vcc)) == 0;
    case source_code::execz: return wave.exec() == 0;
    case source_code::scc: return wave.scc;
    case source_code::pops_exiting_wave_id: return 0;
    default:
      throw Fault(FaultKind::illegal_instruction, "source " + std::to_string(operand.index) + " is not modelled");
  }
}

// A 32-bit read of an aperture gives its low dword, which is 0 (LLVM's SITargetLowering::getSegmentAperture says so
// too).
inline std::uint32_t read_scalar32(const Wave& wave, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::sgpr: return operand.index == sreg::null ? 0 : wave.sgpr[operand.index];
    case OperandKind::constant: return static_cast<std::uint32_t>(operand.value);
    case OperandKind::special: return static_cast<std::uint32_t>(read_special(wave, operand));
    default: return 0;
  }
}

inline std::uint64_t read_scalar64(const Wave& wave, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::sgpr: return operand.index == sreg::null ? 0 : wave.pair(operand.index);
    case OperandKind::constant: return operand.value;
    case OperandKind::special: return read_special(wave, operand);
    default: return 0;
  }
}

inline void write_scalar32(Wave& wave, const Operand& operand, std::uint32_t value) {
  if (operand.index != sreg::null) wave.sgpr[operand.index] = value;
}

inline void write_scalar64(Wave& wave, const Operand& operand, std::uint64_t value) {
  if (operand.index != sreg::null) wave.set_pair(operand.index, value);
}

// A lane mask: one register in a wave of 32 lanes, two in one of 64.
inline std::uint64_t read_mask(const Wave& wave, const Operand& operand) {
  return wave.lanes == 32 ? read_scalar32(wave, operand) : read_scalar64(wave, operand);
}

inline void write_mask(Wave& wave, const Operand& operand, std::uint64_t value) {
  if (wave.lanes == 32) write_scalar32(wave, operand, static_cast<std::uint32_t>(value));
  else write_scalar64(wave, operand, value);
}

}  // namespace rapt::sim
