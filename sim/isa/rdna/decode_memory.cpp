// DS, FLAT, GLOBAL, SCRATCH, MUBUF and MTBUF (gfx12: VBUFFER).
#include "sim/isa/rdna/decode.hpp"
#include "sim/isa/rdna/traits.hpp"

namespace rapt::sim::rdna_isa {
namespace {

std::int32_t sign_extend(unsigned value, unsigned bits) {
  return static_cast<std::int32_t>(value << (32 - bits)) >> (32 - bits);
}

bool is_atomic(const Opcode& row) { return row.name.find("_atomic_") != std::string_view::npos; }

// gfx12's cache policy: an atomic returns the old value if the lowest bit of its temporal hint is set.
void read_policy(Reader& in, unsigned hint, unsigned scope) {
  in.out.temporal_hint = static_cast<std::uint8_t>(in.field(hint + 2, hint));
  in.out.scope = static_cast<std::uint8_t>(in.field(scope + 1, scope));
  in.out.nv = in.bit(7);
}

// Transposing loads write half as many registers in a wave of 64 lanes.
Type result_type(const Reader& in) {
  const Type type = in.row().dst;
  if (!in.is(trait::transposes) || in.mode.lanes == 32) return type;
  return type == Type::b128 ? Type::b64 : Type::b32;
}

// Not exec, and for scratch not exec_hi (LLVM's register classes).
Operand base_register(Reader& in, unsigned code, bool scratch) {
  const bool whole_address = in.row().src[0] != Type::none;  // false for addtid
  in.require(code != (scratch ? sreg::exec + 1 : sreg::exec) || !whole_address);
  return in.scalar(code, in.row().src[2]);
}

void decode_flat_gfx11(Reader& in) {
  constexpr std::array formats = {Format::flat, Format::scratch, Format::global};
  const unsigned segment = in.field(17, 16);
  if (segment == 3) return;
  const Opcode* row = in.begin(formats[segment], in.field(24, 18), 2);
  if (row == nullptr) return;
  Instruction& out = in.out;
  const bool scratch = segment == 1;
  out.offset = segment == 0 ? static_cast<std::int32_t>(in.field(12, 0)) : sign_extend(in.field(12, 0), 13);
  out.glc = in.bit(14);
  out.slc = in.bit(15);
  out.dlc = in.bit(13);

  const unsigned saddr = in.field(54, 48);
  const bool has_saddr = segment != 0 && saddr != in.null_code;
  const bool sve = in.bit(55);
  in.require(scratch || !sve);
  in.require(segment != 0 || saddr == in.null_code);
  if (row->dst != Type::none && (!is_atomic(*row) || out.glc)) out.dst = in.vgpr(in.field(63, 56), row->dst);
  if (row->src[1] != Type::none) out.src[1] = in.vgpr(in.field(47, 40), row->src[1]);
  if (has_saddr) out.src[2] = base_register(in, saddr, scratch);
  if (row->src[0] == Type::none) return;
  if (scratch ? sve : true) out.src[0] = in.vgpr(in.field(39, 32), has_saddr ? Type::b32 : row->src[0]);
}

void decode_flat_gfx12(Reader& in) {
  constexpr std::array formats = {Format::flat, Format::scratch, Format::global};
  const unsigned segment = in.field(25, 24);
  if (segment == 3) return;
  const Opcode* row = in.begin(formats[segment], in.field(21, 14), 3);
  if (row == nullptr) return;
  Instruction& out = in.out;
  out.offset = sign_extend(in.word(2) >> 8, 24);
  read_policy(in, 52, 50);
  const unsigned saddr = in.field(6, 0);
  const bool has_saddr = saddr != in.null_code;
  const bool sve = in.bit(49);
  in.require(segment == 1 || !sve);
  // Flat addresses, and operations without an address, have no SGPR part.
  const bool no_saddr = segment == 0 || row->src[2] == Type::none;
  in.require(!no_saddr || !has_saddr);
  in.require(!in.bit(48));  // gfx1250's scale_offset
  const bool returns = !is_atomic(*row) || (out.temporal_hint & 1) != 0;
  if (row->src[1] == Type::none && row->dst == Type::none) out.offset = 0;  // cache control
  if (row->dst != Type::none && returns) out.dst = in.vgpr(in.field(39, 32), result_type(in));
  if (row->src[1] != Type::none) out.src[1] = in.vgpr(in.field(62, 55), row->src[1]);
  if (row->src[2] != Type::none && has_saddr) out.src[2] = base_register(in, saddr, segment == 1);
  if (row->src[0] == Type::none) return;
  if (segment != 1 || sve) out.src[0] = in.vgpr(in.word(2) & 0xff, has_saddr ? Type::b32 : row->src[0]);
}

struct Buffer {
  unsigned data, address, resource, soffset;
};

Type with_status(Type type) {
  switch (type) {
    case Type::b64: return Type::b96;
    case Type::b96: return Type::b128;
    case Type::b128: return Type::b160;
    default: return Type::b64;
  }
}

void buffer_operands(Reader& in, const Buffer& at, bool returns) {
  Instruction& out = in.out;
  const Opcode& row = in.row();
  if (row.src[2] == Type::none) {  // cache control
    in.require(!out.tfe && !out.offen && !out.idxen && !out.glc && !out.dlc);
    return;
  }
  if (row.dst != Type::none && returns) out.dst = in.vgpr(at.data, out.tfe ? with_status(row.dst) : row.dst);
  if (out.offen || out.idxen) {
    out.src[0] = in.vgpr(at.address, out.offen && out.idxen ? Type::b64 : Type::b32);
  }
  if (row.src[1] != Type::none) {
    out.src[1] = in.vgpr(at.data, out.tfe && row.dst == Type::none ? with_status(row.src[1]) : row.src[1]);
  }
  out.src[2] = in.scalar(at.resource, Type::b128);
  in.require(at.soffset != 255 && at.soffset != 254 && at.soffset < 256);
  out.src[3] = in.source(at.soffset, row.src[3]);
}

void decode_buffer_gfx11(Reader& in) {
  const bool typed = in.field(31, 26) == 0x3a;
  const Opcode* row =
      typed ? in.begin(Format::mtbuf, in.field(18, 15), 2) : in.begin(Format::mubuf, in.field(25, 18), 2);
  if (row == nullptr) return;
  Instruction& out = in.out;
  out.offset = static_cast<std::int32_t>(in.field(11, 0));
  out.slc = in.bit(12);
  out.dlc = in.bit(13);
  out.glc = in.bit(14);
  out.lds = in.is(trait::to_lds);
  out.tfe = in.bit(53);
  out.offen = in.bit(54);
  out.idxen = in.bit(55);
  if (typed) out.data_format = static_cast<std::uint8_t>(in.field(25, 19));
  in.require(!out.tfe || (!typed && !is_atomic(*row)));
  buffer_operands(in, {in.field(47, 40), in.field(39, 32), in.field(52, 48) << 2, in.field(63, 56)},
                  !is_atomic(*row) || out.glc);
}

void decode_buffer_gfx12(Reader& in) {
  const unsigned code = in.field(21, 14);
  const bool typed = in.find(Format::mtbuf, code) != nullptr;
  const Opcode* row = in.begin(typed ? Format::mtbuf : Format::mubuf, code, 3);
  if (row == nullptr) return;
  Instruction& out = in.out;
  out.offset = sign_extend(in.word(2) >> 8, 24);
  out.tfe = in.bit(22);
  read_policy(in, 52, 50);
  out.offen = in.bit(62);
  out.idxen = in.bit(63);
  out.data_format = static_cast<std::uint8_t>(in.field(61, 55));
  in.require(!out.tfe || (!typed && !is_atomic(*row)));
  in.require(in.field(49, 48) == 0 && out.offset >= 0);
  buffer_operands(in, {in.field(39, 32), in.word(2) & 0xff, in.field(47, 41), in.field(6, 0)},
                  !is_atomic(*row) || (out.temporal_hint & 1) != 0);
}

}  // namespace

void decode_ds(Reader& in) {
  const Opcode* row = in.begin(Format::ds, in.field(25, 18), 2);
  if (row == nullptr) return decode_unsupported(in);
  Instruction& out = in.out;
  if (in.is(trait::two_offsets)) {
    out.offset = static_cast<std::int32_t>(in.field(7, 0));
    out.offset1 = static_cast<std::uint16_t>(in.field(15, 8));
  } else {
    out.offset = static_cast<std::int32_t>(in.field(15, 0));
  }
  out.gds = in.bit(17);
  in.require(!out.gds || !(in.gfx12() || in.is(trait::no_gds)));
  in.require(row->src[0] != Type::none || row->src[1] != Type::none || row->dst != Type::none || out.offset == 0);
  const std::array fields = {in.field(39, 32), in.field(47, 40), in.field(55, 48)};
  for (unsigned i = 0; i < 3; ++i) {
    if (row->src[i] != Type::none) out.src[i] = in.vgpr(fields[i], row->src[i]);
    in.require(row->src[i] != Type::none || fields[i] == 0);
  }
  if (row->dst != Type::none) out.dst = in.vgpr(in.field(63, 56), row->dst);
  in.require(row->dst != Type::none || in.field(63, 56) == 0);
}

void decode_flat(Reader& in) { in.gfx12() ? decode_flat_gfx12(in) : decode_flat_gfx11(in); }

void decode_buffer(Reader& in) { in.gfx12() ? decode_buffer_gfx12(in) : decode_buffer_gfx11(in); }

}  // namespace rapt::sim::rdna_isa
