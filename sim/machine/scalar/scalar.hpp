// Handlers of scalar operations from functions on values: each takes SCC by reference, and the sources.
#pragma once

#include "sim/machine/core/handlers.hpp"
#include "sim/machine/scalar/operands.hpp"

namespace rapt::sim {

template <typename Operation>
constexpr Handler unary32(Operation) {
  return [](Wave& wave, const Instruction& i) {
    write_scalar32(wave, i.dst, Operation{}(wave.scc, read_scalar32(wave, i.src[0])));
  };
}

template <typename Operation>
constexpr Handler unary64(Operation) {
  return [](Wave& wave, const Instruction& i) {
    write_scalar64(wave, i.dst, Operation{}(wave.scc, read_scalar64(wave, i.src[0])));
  };
}

// 64 bits in, 32 bits out.
template <typename Operation>
constexpr Handler narrow64(Operation) {
  return [](Wave& wave, const Instruction& i) {
    write_scalar32(wave, i.dst, Operation{}(wave.scc, read_scalar64(wave, i.src[0])));
  };
}

// 32 bits in, 64 bits out.
template <typename Operation>
constexpr Handler widen32(Operation) {
  return [](Wave& wave, const Instruction& i) {
    write_scalar64(wave, i.dst, Operation{}(wave.scc, read_scalar32(wave, i.src[0])));
  };
}

template <typename Operation>
constexpr Handler binary32(Operation) {
  return [](Wave& wave, const Instruction& i) {
    write_scalar32(wave, i.dst, Operation{}(wave.scc, read_scalar32(wave, i.src[0]), read_scalar32(wave, i.src[1])));
  };
}

template <typename Operation>
constexpr Handler binary64(Operation) {
  return [](Wave& wave, const Instruction& i) {
    write_scalar64(wave, i.dst, Operation{}(wave.scc, read_scalar64(wave, i.src[0]), read_scalar64(wave, i.src[1])));
  };
}

// A 64-bit value and a 32-bit control.
template <typename Operation>
constexpr Handler shift64(Operation) {
  return [](Wave& wave, const Instruction& i) {
    write_scalar64(wave, i.dst, Operation{}(wave.scc, read_scalar64(wave, i.src[0]), read_scalar32(wave, i.src[1])));
  };
}

inline std::uint32_t counted(bool& scc, int count) {
  scc = count != 0;
  return static_cast<std::uint32_t>(count);
}

void register_scalar_exec(HandlerTable& table);         // EXEC manipulation, PC, relative moves
void register_scalar_float(HandlerTable& table);        // gfx1151 and gfx12
void register_scalar_memory(HandlerTable& table);       // SMEM
void register_scalar_atomics(HandlerTable& table);      // gfx9's
void register_hardware_registers(HandlerTable& table);  // s_getreg, s_setreg

}  // namespace rapt::sim
