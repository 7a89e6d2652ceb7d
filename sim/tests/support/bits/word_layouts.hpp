// The fields of every instruction layout (ISA documents, "Microcode formats"): to make words of an operation, and to
// find the field of a bit.
#pragma once

#include "sim/isa/opcode.hpp"

#include <array>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace rapt::sim::test {

// How to choose a random value of a field.
enum class Fill : std::uint8_t {
  vgpr,           // 8 bits: a low register, even more often than not
  source,         // 9 bits: VGPR, SGPR or constant
  scalar_source,  // 8 bits: SGPR or constant
  sgpr,           // 7 bits
  base,           // an address pair or a descriptor, in units that the field's width tells
  saddr,          // SGPR pair or none
  modifier,       // mostly clear
  any,
  one,
  form,    // says which other fields are used
  offset,  // small, a multiple of 8
  immediate,
  number,             // 32 bits
  select,             // SDWA
  control,            // DPP
  message,            // of the messages that are answered
  barrier,            // the workgroup's
  hardware_register,  // mostly one that exists
  mask,               // DPP, mostly set
};

struct BitField {
  std::string_view name;
  std::uint8_t low, bits;
  Fill fill;
};

inline constexpr unsigned most_words = 5;  // of an instruction, and one more
using Words = std::array<std::uint32_t, most_words>;

// The kind of word that follows VOP1, VOP2, VOPC, VOP3 and VOP3P: src0 tells it, and any source a literal.
enum class Suffix : std::uint8_t { none, literal, dpp16, dpp8, dpp8_fi, sdwa };

// One way to encode one operation.
struct Layout {
  std::string_view name;  // "VOP2 SDWA"
  Words fixed{};          // format and opcode
  unsigned dwords;        // without a literal that the operation always has
  Suffix suffix = Suffix::none;
  std::vector<BitField> fields;

  // The field that holds the bit, and the bit's number in it.
  struct Place {
    std::string_view field;
    unsigned bit;
  };
  Place place(unsigned bit) const;
  // The values of the fields that choose the form.
  std::uint32_t form(const Words& words) const;
};

// All layouts that the architecture's documents give for the operation; the decoder may refuse some.
std::vector<Layout> layouts(Arch arch, const Opcode& row);

// Random values in all fields.
Words random_words(const Layout& layout, Arch arch, std::mt19937& random);

// The same words except for random values in some of the fields, most often in the named one.
Words other_words(const Layout& layout, Arch arch, Words words, std::string_view field, std::mt19937& random);

// The tables behind layouts(), one for each family.
struct LayoutRow {
  Format format;
  ArchSet archs;
  std::string_view name;
  std::uint32_t base;
  std::uint8_t op_shift;
  std::uint16_t first_code;  // where the format's codes begin in a shared field
  std::uint8_t dwords;
  std::vector<BitField> fields;
  std::vector<Suffix> suffixes = {};  // that may follow
};
const std::vector<LayoutRow>& gfx9_layouts();
const LayoutRow& gfx9_matrix_layout(bool with_scales);  // MFMA, SMFMAC
const std::vector<LayoutRow>& rdna_layouts();

}  // namespace rapt::sim::test
