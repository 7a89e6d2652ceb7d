#include "sim/isa/cdna/decode.hpp"

namespace rapt::sim::gfx9 {
namespace {

bool begin(Reader& reader, bool typed) {
  return typed ? reader.begin(Format::mtbuf, reader.bits(15, 4), 2)
               : reader.begin(Format::mubuf, reader.bits(18, 7), 2);
}

// Write-back and invalidation have no operands and only a few of the bits.
bool cache_control(Reader& reader) {
  Instruction& out = reader.out;
  if (out.offen || out.idxen || out.lds || reader.bit(55)) return false;
  const bool scoped = reader.arch() == Arch::gfx942 || reader.arch() == Arch::gfx950;
  if (!scoped) {
    if ((out.glc || reader.bit(15)) && reader.row().name != "buffer_wbl2") return false;
    out.glc = out.scc = false;
  }
  out.slc = false;
  return true;
}

}  // namespace

bool decode_buffer(Reader& reader) {
  const bool typed = reader.bits(26, 6) == 0x3a;
  if (!begin(reader, typed)) return false;
  const Opcode& row = reader.row();
  Instruction& out = reader.out;
  out.offen = reader.bit(12);
  out.idxen = reader.bit(13);
  out.glc = reader.bit(14);
  out.slc = reader.bit(typed ? 54 : 17);
  out.scc = !reader.before_gfx90a() && reader.bit(typed ? 53 : 15);
  if (typed) {
    out.data_format = static_cast<std::uint8_t>(reader.bits(19, 4));
    out.number_format = static_cast<std::uint8_t>(reader.bits(23, 3));
  } else {
    out.lds = reader.bit(16);
    const bool wide = dwords(row.dst, 64) > 2;  // gfx950's
    if (row.src[0] == Type::none && row.src[2] != Type::none && (!out.lds || out.offen || out.idxen)) return false;
    if (out.lds && (!reader.is(trait::lds_option) || (wide && reader.arch() != Arch::gfx950))) return false;
  }
  if (row.src[2] == Type::none) return cache_control(reader);

  out.offset = static_cast<std::int32_t>(reader.bits(0, 12));
  if (out.lds && reader.bit(55)) return false;
  // gfx90a replaced tfe with "the data are in AGPRs".
  const bool bit55 = reader.bit(55), accumulator = bit55 && !reader.before_gfx90a();
  out.tfe = bit55 && !accumulator;
  const bool atomic = row.name.starts_with("buffer_atomic");
  if (out.tfe && (typed || atomic)) return false;
  if (out.glc && reader.is(trait::no_return)) return false;
  if (out.scc && atomic && is_float(row.src[1]) && reader.arch() == Arch::gfx90a) return false;  // there is none
  const unsigned addresses = static_cast<unsigned>(out.offen) + static_cast<unsigned>(out.idxen);
  if (addresses != 0) out.src[0] = reader.vgpr(reader.bits(32, 8), addresses);
  out.src[2] = reader.scalar(reader.bits(48, 5) * 4, 4);
  out.src[3] = reader.source(reader.bits(56, 8), row.src[3], Sources::scalar);

  const unsigned index = reader.bits(40, 8), extra = out.tfe ? 1 : 0;
  if (row.src[1] != Type::none) out.src[1] = reader.vector(accumulator, index, reader.dwords(row.src[1]) + extra);
  const bool returns = row.dst != Type::none && !out.lds && (row.src[1] == Type::none || out.glc);
  if (returns) out.dst = reader.vector(accumulator, index, reader.dwords(row.dst) + extra);
  return true;
}

}  // namespace rapt::sim::gfx9
