// VOPD: an X and a Y operation (RDNA3 ISA, "Dual issue VALU").
#include "sim/isa/rdna/decode.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

struct Half {
  unsigned src0, src1, dst;  // as encoded
};

void decode_half(Reader& in, Instruction& out, const Half& half) {
  const Opcode& row = *out.opcode;
  const auto is = [&](Traits trait) { return (row.traits & trait) != 0; };
  out.dst = in.vgpr(half.dst, row.dst);
  out.src[0] = in.source(half.src0, row.src[0]);
  if (is(trait::literal_src1)) {
    out.src[1] = in.literal(row.src[1]);
    out.src[2] = in.vgpr(half.src1, row.src[2]);
    return;
  }
  if (row.src[1] != Type::none) out.src[1] = in.vgpr(half.src1, row.src[1]);
  in.require(row.src[1] != Type::none || half.src1 == 0);
  if (is(trait::literal_src2)) out.src[2] = in.literal(row.src[2]);
  if (is(trait::reads_dst)) out.src[2] = out.dst;
  if (row.src[2] == Type::mask) out.src[2] = in.vcc_mask();
}

}  // namespace

void decode_vopd(Reader& in) {
  const Opcode* y = in.find(Format::vopd, in.field(21, 17));
  if (in.begin(Format::vopd, in.field(25, 22), 2) == nullptr) return;
  in.require(y != nullptr && in.mode.lanes == 32);
  if (y == nullptr) return;
  const unsigned x_dst = in.field(63, 56);
  // One result is in an even register, the other in an odd one; the field for Y's lacks the lowest bit.
  const unsigned y_dst = in.field(55, 49) << 1 | (~x_dst & 1);
  decode_half(in, in.out, {in.field(8, 0), in.field(16, 9), x_dst});
  in.out.dual = std::make_unique<Instruction>();
  in.out.dual->opcode = y;
  decode_half(in, *in.out.dual, {in.field(40, 32), in.field(48, 41), y_dst});
}

}  // namespace rapt::sim::rdna_isa
