#include "sim/tests/support/instructions/any_instruction.hpp"

#include "sim/tests/support/instructions/any_encoding.hpp"

#include <utility>

namespace rapt::sim::test {
namespace {

// Where an encoding's operands are at first. VGPRs: up to 32 of dst, src0 and src2, 16 of src1, all below 128, where
// the short encodings have their 16-bit ones; dst2 is never one. SGPRs: up to 16 of dst, 4 of the others.
constexpr std::array<std::uint8_t, slot_count> vector_registers{64, 0, 32, 96, 0, 112, 114, 121, 122, 123, 124};
constexpr std::array<std::uint8_t, slot_count> scalar_registers{64, 98, 80, 84, 88, 96, 97, 0, 0, 0, 0};

bool is_source(const Place& place) {
  return place.exists() && can_be_scalar(place.coding) && can_be_vector(place.coding);
}

unsigned scalar_code(Arch arch, unsigned index) {
  if (is_cdna(arch)) return index;
  return index == sreg::m0 ? sreg::null : index == sreg::null ? sreg::m0 : index;  // swapped
}

bool is_register(const Operand& o) {
  return o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr || o.kind == OperandKind::sgpr;
}

// The first registers of operands; source n is in SGPRs if bit n of `scalar` is set.
void place_all(Encoding& e, unsigned scalar) {
  unsigned source = 0;
  for (unsigned slot = 0; slot < slot_count; ++slot) {
    const Place& place = e.places[slot];
    if (!place.exists()) continue;
    const bool vector = is_source(place) ? (scalar >> source++ & 1) == 0 : can_be_vector(place.coding);
    set_register(e, slot, apart_register(slot, vector ? OperandKind::vgpr : OperandKind::sgpr));
  }
}

// Sources are VGPRs as far as the row allows.
std::optional<Instruction> place_legally(Encoding& e) {
  unsigned sources = 0;
  for (const Place& place : e.places) sources += is_source(place);
  for (unsigned scalar = 0; scalar < 1U << sources; ++scalar) {
    place_all(e, scalar);
    if (auto instruction = e.decode()) return instruction;
  }
  return std::nullopt;
}

}  // namespace

std::uint32_t get(const std::vector<std::uint32_t>& words, Field field) {
  std::uint32_t value = 0;
  for (unsigned n = 0; n < field.count; ++n) value |= (words[(field.low + n) / 32] >> (field.low + n) % 32 & 1) << n;
  return value;
}

void put(std::vector<std::uint32_t>& words, Field field, std::uint32_t value) {
  for (unsigned n = 0; n < field.count; ++n) {
    std::uint32_t& word = words[(field.low + n) / 32];
    const std::uint32_t bit = 1U << (field.low + n) % 32;
    word = (value >> n & 1) != 0 ? word | bit : word & ~bit;
  }
}

const Operand& operand(const Instruction& i, unsigned slot) {
  static const Operand none;
  if (slot >= y_dst) return !i.dual ? none : slot == y_dst ? i.dual->dst : i.dual->src[slot - y_src0];
  return slot == dst ? i.dst : slot == dst2 ? i.dst2 : i.src[slot - src0];
}
Operand& operand(Instruction& i, unsigned slot) { return const_cast<Operand&>(operand(std::as_const(i), slot)); }

std::optional<Instruction> Encoding::decode() const {
  auto instruction = sim::decode(mode, words);
  if (!instruction) return std::nullopt;
  const bool same = instruction->opcode == opcode || (instruction->dual && instruction->dual->opcode == opcode);
  return same ? std::move(instruction) : std::nullopt;
}

void set_register(Encoding& e, unsigned slot, Register to) {
  const Place& place = e.places[slot];
  const bool scalar = to.kind == OperandKind::sgpr || to.kind == OperandKind::special;
  const unsigned code = to.kind == OperandKind::sgpr ? scalar_code(e.mode.arch, to.index) : to.index;
  const auto flag = [&](bool value) { put(e.words, {place.flag, static_cast<std::uint8_t>(place.flag != 0)}, value); };
  switch (place.coding) {
    case Coding::vector: flag(to.high), put(e.words, place.field, code); break;
    case Coding::half: put(e.words, place.field, (code & 127) | (to.high ? 128 : 0)); break;
    case Coding::source: flag(to.high), put(e.words, place.field, scalar ? code : code + 256); break;
    case Coding::half_source:
      put(e.words, place.field, scalar ? code : (code & 127) | (to.high ? 128 : 0) | 256);
      break;
    case Coding::scalar: put(e.words, place.field, code); break;
    case Coding::pair:
    case Coding::even_odd: put(e.words, place.field, code / 2); break;
    case Coding::quad: put(e.words, place.field, code / 4); break;
    case Coding::sdwa: flag(scalar), put(e.words, place.field, code); break;
  }
}

bool reaches_memory(const Opcode& opcode) {
  switch (opcode.format) {
    case Format::smem:
    case Format::ds:
    case Format::flat:
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf: return true;
    default: return false;
  }
}

bool is_relative(const Opcode& opcode, unsigned slot) {
  const auto is = [&](std::string_view part) { return opcode.name.find(part) != std::string_view::npos; };
  if (is("movrelsd") || is("swaprel")) return slot == dst || slot == src0;
  return (is("movrels_") && slot == src0) || (is("movreld_") && slot == dst);
}

Register apart_register(unsigned slot, OperandKind kind) {
  return {kind, kind == OperandKind::sgpr ? scalar_registers[slot] : vector_registers[slot]};
}

Forms::Form Forms::add(std::string form, std::uint32_t first, std::uint32_t second, std::uint32_t third) {
  // A literal after the words, if the instruction has one.
  forms_.push_back({mode_, &opcode_, std::move(form), {first, second, third, 0x40a12345}, {}, {}});
  return Form(forms_.back());
}

const Forms::Form& Forms::Form::any(Slot slot, Coding coding, unsigned low, unsigned count, unsigned flag) const {
  encoding_.places[slot] = {
      {static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(count)}, coding, static_cast<std::uint8_t>(flag)};
  return *this;
}
const Forms::Form& Forms::Form::at(Slot slot, Coding coding, unsigned low, unsigned count, unsigned flag) const {
  const Opcode& row = *encoding_.opcode;
  const Type type = slot == dst ? row.dst : slot == dst2 ? row.dst2 : row.src[slot - src0];
  return type == Type::none ? *this : any(slot, coding, low, count, flag);
}
const Forms::Form& Forms::Form::option(unsigned low, unsigned count) const {
  encoding_.options.push_back({static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(count)});
  return *this;
}
const Forms::Form& Forms::Form::set(unsigned low, unsigned count, std::uint32_t value) const {
  put(encoding_.words, {static_cast<std::uint8_t>(low), static_cast<std::uint8_t>(count)}, value);
  return *this;
}

std::vector<Encoding> encodings(DecodeMode mode, const Opcode& opcode) {
  Forms forms(mode, opcode);
  const bool gfx9 = is_cdna(mode.arch);
  switch (opcode.format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopk:
    case Format::sopc:
    case Format::sopp:
    case Format::smem: gfx9 ? add_gfx9_scalar_forms(forms) : add_rdna_scalar_forms(forms); break;
    case Format::ds:
    case Format::flat:
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf: gfx9 ? add_gfx9_memory_forms(forms) : add_rdna_memory_forms(forms); break;
    case Format::unsupported: break;
    default: gfx9 ? add_gfx9_vector_forms(forms) : add_rdna_vector_forms(forms); break;
  }
  std::vector<Encoding> legal;
  for (Encoding& e : forms.take()) {
    const auto instruction = place_legally(e);
    if (!instruction) continue;
    e.words.resize(instruction->size / 4);
    for (unsigned slot = 0; slot < slot_count; ++slot)
      if (!is_register(operand(*instruction, slot))) e.places[slot] = {};
    legal.push_back(std::move(e));
  }
  return legal;
}

}  // namespace rapt::sim::test
