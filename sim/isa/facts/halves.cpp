#include "sim/isa/facts/halves.hpp"

#include <algorithm>

namespace rapt::sim {

bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 || type == Type::bf16;
}

namespace {

unsigned halves_of(const Operand& o, Type type, unsigned vgpr) {
  if (o.kind != OperandKind::vgpr || vgpr < o.index || vgpr >= o.index + std::max<unsigned>(1, o.dwords)) return 0;
  if (!is_half(type)) return halves::both;
  return o.high ? halves::upper : halves::lower;
}

}  // namespace

unsigned read_halves(const Instruction& i, unsigned vgpr) {
  unsigned all = i.dual ? read_halves(*i.dual, vgpr) : 0;
  for (unsigned n = 0; n < i.src.size(); ++n) all |= halves_of(i.src[n], i.opcode->src[n], vgpr);
  return all;
}

unsigned written_halves(const Instruction& i, unsigned vgpr) {
  return (i.dual ? written_halves(*i.dual, vgpr) : 0) | halves_of(i.dst, i.opcode->dst, vgpr);
}

}  // namespace rapt::sim
