// The clock model: how long an instruction holds each pipe, and the wave that issues it. A pure function of the decoded
// instruction; memory, LDS and waits for results take no time in it.
//
// Sources: AMD's white papers (operations a clock and CU of each product), AMD's matrix instruction calculator (clocks
// of matrix products, and for how many of them vector arithmetic must wait), the CDNA4 ISA document (passes of the
// scaled products), LLVM's SISchedule.td (which integer operations run at less than full rate), RX 7900 XTX's data
// sheet (f64). Where a rate is not documented the full one is taken, so that sums are lower bounds.
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
  Pipe pipe = Pipe::scalar;                       // that it runs on: the wave's next one for it waits until it is free
  std::uint16_t issue = 1;                        // until the wave's next instruction may issue
};
Clocks clocks(const Instruction& instruction, const Effects& effects, Arch arch, unsigned lanes);

// Passes, four clocks each, of MFMA and SMFMAC; the scaled products as with elements of 4 and 6 bits.
unsigned matrix_passes(std::string_view name, Arch arch);

// How many of a pipe a compute unit has. CDNA's SIMDs share one scalar unit; AMD's matrix cores and the transcendental
// units belong to a SIMD each.
unsigned pipes_per_unit(Pipe pipe, Arch arch);

}  // namespace rapt::sim
