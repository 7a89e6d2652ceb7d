// The clock model: how long an instruction occupies each pipe and delays the wave that issues it. A pure function of
// the decoded instruction; memory, LDS and waits for results take no time in this model.
//
// Sources:
//   AMD's white papers                      operations per clock and CU of each product
//   AMD's matrix instruction calculator     clocks of matrix products, and how long vector arithmetic must wait
//   the CDNA4 ISA document                  passes of the scaled products
//   LLVM's SISchedule.td                    integer operations that run at less than full rate
//   RX 7900 XTX's data sheet                f64
//
// If a rate is not documented, the full rate is assumed, so that sums are lower bounds.
#pragma once

#include "sim/isa/effects.hpp"

#include <cstdint>
#include <string_view>

namespace rapt::sim {

enum class Pipe : std::uint8_t { scalar, vector, transcendental, matrix };
inline constexpr unsigned pipe_count = 4;
std::string_view name(Pipe pipe);

struct Clocks {
  std::array<std::uint16_t, pipe_count> taken{};  // of each pipe
  Pipe pipe = Pipe::scalar;                       // that it runs on; the wave's next one there waits until it is free
  std::uint16_t issue = 1;                        // until the wave's next instruction may issue
};
Clocks clocks(const Instruction& instruction, const Effects& effects, Arch arch, unsigned lanes);

// Passes, four clocks each, of MFMA and SMFMAC; scaled products count as those with elements of 4 and 6 bits.
unsigned matrix_passes(std::string_view name, Arch arch);

// The number of such pipes in a compute unit. CDNA's SIMDs share one scalar unit; each SIMD has a matrix core and a
// transcendental unit.
unsigned pipes_per_unit(Pipe pipe, Arch arch);

}  // namespace rapt::sim
