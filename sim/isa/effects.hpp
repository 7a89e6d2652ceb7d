// What an instruction reads and writes, and which unit executes it: the basis of the sanitizer and of the profile. A
// pure function of the decoded instruction.
#pragma once

#include "sim/isa/instruction.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>

namespace rapt::sim {

enum class Unit : std::uint8_t {
  salu,
  smem,
  branch,
  wait,
  barrier,
  message,  // scalar side
  valu,
  trans,
  matrix,  // vector arithmetic; trans: exp, log, rcp, rsq, sqrt, sin, cos
  lds,
  global,
  flat,
  scratch,
  buffer,  // vector memory
  other,   // no-operations, modes, caches
};

enum class RegisterFile : std::uint8_t { vgpr, agpr, sgpr, scc };

// What a value is used for, in ascending order of severity: an undefined value may be moved, but not used.
enum class Use : std::uint8_t {
  value,      // goes into a result
  control,    // decides how lanes or bits move: shift counts, selectors, masks of v_cndmask
  store,      // goes to memory
  address,    // addresses, offsets, descriptors
  condition,  // decides a branch
};

struct RegisterAccess {
  RegisterFile file;
  std::uint8_t source = 0;  // for reads: the number of the operand; 255: implied (vcc, scc, m0, exec, flat_scratch)
  std::uint16_t first = 0;
  std::uint16_t count = 0;  // 32-bit registers
  Use use = Use::value;
};

struct Effects {
  static constexpr std::uint8_t implied = 255;

  Unit unit = Unit::other;
  bool loads = false, stores = false, atomic = false;  // of memory
  bool per_lane = false;                               // affected by EXEC
  bool partial_dst = false;  // leaves some bits of a written VGPR unchanged: halves, bytes, single lanes
  std::span<const RegisterAccess> reads() const { return {reads_.data(), read_count_}; }
  std::span<const RegisterAccess> writes() const { return {writes_.data(), write_count_}; }

  void read(RegisterAccess access) { reads_[read_count_++] = access; }
  void write(RegisterAccess access) { writes_[write_count_++] = access; }

 private:
  std::array<RegisterAccess, 14> reads_{};
  std::array<RegisterAccess, 6> writes_{};
  std::uint8_t read_count_ = 0, write_count_ = 0;
};

Effects effects(const Instruction& instruction, unsigned lanes);

// Whether source n controls the result instead of flowing into it: a shift count, a selector, a lane mask. If it is
// undefined, the whole result is.
bool is_control_operand(const Instruction& instruction, unsigned n);

}  // namespace rapt::sim
