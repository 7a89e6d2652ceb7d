// Legal encodings of any row of the opcode tables, in every form, with the places of their operands. A test can go
// through all instructions and choose their registers.
#pragma once

#include "sim/isa/decode.hpp"

#include <string>
#include <vector>

namespace rapt::sim::test {

// Bits of an instruction, counted from the lowest one of its first word; count 0: no such field.
struct Field {
  std::uint8_t low = 0, count = 0;
  bool operator==(const Field&) const = default;
};
std::uint32_t get(const std::vector<std::uint32_t>& words, Field field);
void put(std::vector<std::uint32_t>& words, Field field, std::uint32_t value);

// Operands of an Instruction by number; those from y_dst on belong to VOPD's Y half.
enum Slot : std::uint8_t { dst, dst2, src0, src1, src2, src3, src4, y_dst, y_src0, y_src1, y_src2, slot_count };
const Operand& operand(const Instruction& instruction, unsigned slot);
Operand& operand(Instruction& instruction, unsigned slot);

// How a field names a register.
enum class Coding : std::uint8_t {
  vector,  // the number of a VGPR or AGPR; other bits say which of the two
  half,    // the same in seven bits, the eighth: its upper half
  source,  // 9 bits: a scalar register's code, or 256 and a vector register's number
  half_source,
  scalar,    // a scalar register's code
  pair,      // half of it
  quad,      // a fourth
  even_odd,  // VOPD's second destination: half of it, the lowest bit is the opposite of the first one's
  sdwa,      // 8 bits, `flag` says that they are a scalar register's code
};

constexpr bool can_be_scalar(Coding c) { return c != Coding::vector && c != Coding::half && c != Coding::even_odd; }
constexpr bool can_be_vector(Coding c) { return c != Coding::scalar && c != Coding::pair && c != Coding::quad; }

struct Place {
  Field field;
  Coding coding = Coding::vector;
  std::uint8_t flag = 0;  // sdwa's bit; of a 16-bit operand in VOP3 the bit that says "upper half"
  bool exists() const { return field.count != 0; }
};

struct Encoding {
  DecodeMode mode{};
  const Opcode* opcode = nullptr;
  std::string form;  // "e64", "offen idxen glc": its difference from the row's other encodings
  std::vector<std::uint32_t> words;
  std::array<Place, slot_count> places{};
  std::vector<Field> options;  // any bits here leave the operands unchanged, although not all values are legal

  // None if the words are not this instruction.
  std::optional<Instruction> decode() const;
};

// Every form of the row on its architecture. Operands do not overlap, in registers that all their types may begin at.
// Empty only for rows of Format::unsupported.
std::vector<Encoding> encodings(DecodeMode mode, const Opcode& opcode);

struct Register {
  OperandKind kind = OperandKind::none;  // also special: SCC and the like as sources
  unsigned index = 0;
  bool high = false;
};
bool reaches_memory(const Opcode& opcode);
// Whether M0 moves the operand: movrel's, v_swaprel's.
bool is_relative(const Opcode& opcode, unsigned slot);
// Where `encodings` puts the operand if it is in registers of that kind.
Register apart_register(unsigned slot, OperandKind kind);
// Writes the register's number into the operand's field; only decode() tells whether that is legal.
void set_register(Encoding& encoding, unsigned slot, Register to);

}  // namespace rapt::sim::test
