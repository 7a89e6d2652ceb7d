#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::gfx9 {
namespace {

constexpr unsigned saddr_off = 0x7f;

struct Addressing {
  bool vaddr, saddr;
};

// Scratch: gfx942 has a bit for a vector address; older ones have a vector address if they have no scalar one.
Addressing addressing(Reader& reader, Format format) {
  const bool saddr = format != Format::flat && reader.bits(48, 7) != saddr_off;
  if (format != Format::scratch) return {true, saddr};
  return {contains(only(Arch::gfx942) | only(Arch::gfx950), reader.arch()) ? reader.bit(13) : !saddr, saddr};
}

}  // namespace

bool decode_flat(Reader& reader) {
  const unsigned segment = reader.bits(14, 2);
  if (segment == 3) return false;
  const Format format = segment == 0 ? Format::flat : segment == 1 ? Format::scratch : Format::global;
  if (!reader.begin(format, reader.bits(18, 7), 2)) return false;
  const Opcode& row = reader.row();
  Instruction& out = reader.out;
  const bool gfx94 = contains(only(Arch::gfx942) | only(Arch::gfx950), reader.arch());
  const bool gfx90a = reader.arch() == Arch::gfx90a;
  const bool accumulator = reader.bit(55);
  if (accumulator && reader.before_gfx90a()) return false;

  if (format == Format::flat) {
    if (reader.bits(48, 7) != 0) return false;
    // The offset has 12 bits here; a 13th is ignored (ISA documents, "FLAT offset"), although LLVM prints it.
    out.offset = static_cast<std::int32_t>(reader.bits(0, 12));
    out.immediate = static_cast<std::int32_t>(reader.bits(0, 13));
  } else {
    out.offset = static_cast<std::int32_t>(reader.bits(0, 13) << 19) >> 19;
  }
  out.glc = reader.bit(16);
  out.slc = reader.bit(17);
  out.scc = !reader.before_gfx90a() && reader.bit(25);
  const bool bit13 = reader.bit(13) && !(gfx94 && format == Format::scratch);
  if (bit13 && !(reader.is(trait::lds_option) && !gfx94)) return false;
  out.lds = bit13 || reader.is(trait::to_lds);
  if (out.lds && accumulator) return false;
  if (reader.is(trait::no_return) && (out.glc || reader.bit(25))) return false;
  // gfx90a's floating-point atomics have no scc.
  const bool float_atomic = is_float(row.src[1]);
  if (out.scc && float_atomic && gfx90a) return false;

  const auto [vaddr, saddr] = addressing(reader, format);
  const bool wide = format != Format::scratch && !saddr;
  if (vaddr) out.src[0] = reader.vgpr(reader.bits(32, 8), wide ? 2 : 1);
  if (saddr) {
    out.src[2] = reader.scalar(reader.bits(48, 7), format == Format::scratch ? 1 : 2);
    reader.require(format == Format::scratch || out.lds || out.src[2].index < sreg::exec);
  }
  if (row.src[1] != Type::none) out.src[1] = reader.vector(accumulator, reader.bits(40, 8), reader.dwords(row.src[1]));
  const bool returns = row.dst != Type::none && !out.lds && (row.src[1] == Type::none || out.glc);
  if (returns) out.dst = reader.vector(accumulator, reader.bits(56, 8), reader.dwords(row.dst));
  return true;
}

}  // namespace rapt::sim::gfx9
