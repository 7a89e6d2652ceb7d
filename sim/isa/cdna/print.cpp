#include "sim/isa/cdna/print.hpp"

#include "sim/isa/text.hpp"

namespace rapt::sim::gfx9 {
namespace {

std::string_view suffix(const Instruction& instruction) {
  if (instruction.opcode->dst == Type::none) return "";
  if (instruction.e64) return "_e64";
  switch (instruction.lane_map) {
    case LaneMap::sdwa: return "_sdwa";
    case LaneMap::dpp16: return "_dpp";
    default: break;
  }
  const Opcode& row = *instruction.opcode;
  const bool has_forms = row.format == Format::vop1 || row.format == Format::vop2 || row.format == Format::vopc;
  const bool one_form = (row.traits & trait::no_e64) != 0;
  return has_forms && !one_form ? "_e32" : "";
}

}  // namespace

void Text::operand(const Operand& value, Type type) { operand(text::operand(arch_, value, type)); }

void Text::bits(std::string_view name, unsigned bits, unsigned count, bool default_bit) {
  const unsigned all = (1U << count) - 1;
  if ((bits & all) == (default_bit ? all : 0U)) return;
  std::string list(name);
  for (unsigned i = 0; i < count; ++i) {
    list += i == 0 ? ":[" : ",";
    list += (bits >> i & 1) != 0 ? '1' : '0';
  }
  flag(list + ']');
}

std::string print(DecodeMode mode, const Instruction& instruction) {
  const Opcode& row = *instruction.opcode;
  Text text(mode.arch, instruction, std::string(row.name).append(suffix(instruction)));
  switch (row.format) {
    case Format::unsupported: break;
    case Format::smem: print_smem(text); break;
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3: print_vop(text); break;
    case Format::vop3p:
      if (text.is(trait::matrix | trait::sparse)) {
        print_matrix(text);
      } else {
        print_vop3p(text);
      }
      break;
    case Format::ds: print_ds(text); break;
    case Format::flat:
    case Format::global:
    case Format::scratch: print_flat(text); break;
    case Format::mubuf:
    case Format::mtbuf: print_buffer(text); break;
    default: print_scalar(text); break;
  }
  return text.take();
}

}  // namespace rapt::sim::gfx9
