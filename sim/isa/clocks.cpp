#include "sim/isa/clocks.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

bool says(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

bool uses(const Opcode& opcode, std::initializer_list<Type> types) {
  const auto is = [types](Type t) { return std::find(types.begin(), types.end(), t) != types.end(); };
  return is(opcode.dst) || std::any_of(opcode.src.begin(), opcode.src.end(), is);
}

// LLVM: WriteIntMul.
bool multiplies_32_bits(std::string_view name) {
  static constexpr std::string_view names[] = {"v_mul_lo_u32",     "v_mul_lo_i32",    "v_mul_hi_u32",
                                               "v_mul_hi_i32",     "v_mad_u64_u32",   "v_mad_i64_i32",
                                               "v_mad_co_u64_u32", "v_mad_co_i64_i32"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Clocks of a vector operation, in multiples of a plain operation's.
unsigned vector_weight(const Opcode& opcode, Arch arch) {
  if (uses(opcode, {Type::f64})) return is_rdna(arch) ? 16 : contains(before_gfx90a, arch) ? 2 : 1;
  if (is_cdna(arch) && !contains(before_gfx90a, arch)) return 1;
  if (multiplies_32_bits(opcode.name)) return 4;
  return uses(opcode, {Type::b64, Type::i64, Type::u64}) ? 2 : 1;
}

// Twice as fast on gfx950 (CDNA4's white paper, which does not say so of 64-bit ones).
unsigned transcendental_weight(const Opcode& opcode, Arch arch) {
  return arch == Arch::gfx950 && !uses(opcode, {Type::f64}) ? 2 : 4;
}

// Element formats of the scaled products: 0 and 1 have 8 bits, and take twice as long.
bool has_bytes(const Instruction& i) { return says(i.opcode->name, "f8f6f4") && (i.cbsz < 2 || i.blgp < 2); }

unsigned matrix_clocks(const Instruction& i, Arch arch) {
  const std::string_view name = i.opcode->name;
  if (is_cdna(arch)) return matrix_passes(name, arch) * (has_bytes(i) ? 8 : 4);
  if (contains(gfx12, arch)) return says(name, "_iu") || says(name, "_fp8") || says(name, "_bf8") ? 8 : 16;
  return says(name, "_iu4") ? 16 : 32;
}

// The number of its clocks during which a matrix product keeps vector arithmetic from issuing.
unsigned matrix_issue(const Instruction& i, Arch arch) {
  const std::string_view name = i.opcode->name;
  const bool gfx940 = arch == Arch::gfx942 || arch == Arch::gfx950;
  if (is_rdna(arch) || says(name, "_f64") || (gfx940 && name.ends_with("_f32"))) return matrix_clocks(i, arch);
  return arch == Arch::gfx908 || (i.opcode->traits & trait::sparse) ? 8 : 4;
}

}  // namespace

std::string_view name(Pipe pipe) {
  static constexpr std::string_view names[] = {"scalar", "vector", "transcendental", "matrix"};
  return names[static_cast<unsigned>(pipe)];
}

unsigned pipes_per_unit(Pipe pipe, Arch arch) { return is_rdna(arch) ? 2 : pipe == Pipe::scalar ? 1 : 4; }

unsigned matrix_passes(std::string_view name, Arch arch) {
  const bool gfx940 = arch == Arch::gfx942 || arch == Arch::gfx950;
  if (says(name, "_f64_4x4x4")) return 4;
  if (says(name, "_f64_16x16x4")) return arch == Arch::gfx950 ? 16 : 8;
  if (says(name, "_4x4x")) return 2;
  if (says(name, "_16x16x")) return gfx940 && !says(name, "_4b_") && !says(name, "_16x16x4_f32") ? 4 : 8;
  return gfx940 && !says(name, "_2b_") && !says(name, "_32x32x2_f32") ? 8 : 16;
}

Clocks clocks(const Instruction& i, const Effects& e, Arch arch, unsigned lanes) {
  const unsigned slot = is_cdna(arch) ? 4 : 1;            // between two instructions of a wave
  const unsigned plain = is_cdna(arch) ? 4 : lanes / 32;  // of a vector operation
  Clocks c;
  const auto take = [&c](Pipe pipe, unsigned clocks) {
    c.pipe = pipe;
    c.taken[static_cast<unsigned>(pipe)] = static_cast<std::uint16_t>(clocks);
  };
  c.issue = static_cast<std::uint16_t>(slot);
  switch (e.unit) {
    case Unit::salu:
    case Unit::smem: take(Pipe::scalar, 1); break;
    case Unit::trans:
      if (is_cdna(arch) || uses(*i.opcode, {Type::f64})) {
        take(Pipe::vector, plain * (is_cdna(arch) ? transcendental_weight(*i.opcode, arch) : 16));
      } else {
        take(Pipe::vector, plain);
        take(Pipe::transcendental, 4 * plain);
      }
      c.issue = c.taken[static_cast<unsigned>(Pipe::vector)];
      break;
    case Unit::valu:
      take(Pipe::vector, plain * vector_weight(*i.opcode, arch));
      c.issue = c.taken[static_cast<unsigned>(Pipe::vector)];
      break;
    case Unit::matrix:
      take(Pipe::vector, matrix_issue(i, arch));
      c.issue = c.taken[static_cast<unsigned>(Pipe::vector)];
      take(Pipe::matrix, matrix_clocks(i, arch));
      break;
    case Unit::other:
      if (i.opcode->name == "s_nop")
        c.issue = static_cast<std::uint16_t>(slot * ((i.immediate & (contains(gfx12, arch) ? 127 : 15)) + 1));
      else if (i.opcode->name == "s_sleep")
        c.issue = static_cast<std::uint16_t>(std::max<unsigned>(slot, 64 * (i.immediate & 127)));
      break;
    default: break;
  }
  return c;
}

}  // namespace rapt::sim
