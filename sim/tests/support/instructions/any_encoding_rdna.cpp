// The formats of gfx11 and gfx12 (RDNA3 and RDNA4 ISA documents, "Microcode formats").
#include "sim/isa/rdna/traits.hpp"
#include "sim/isa/rdna/vector.hpp"
#include "sim/tests/support/instructions/any_encoding.hpp"

namespace rapt::sim::test {
namespace {

using enum Coding;
namespace rdna_trait = rdna_isa::trait;

constexpr std::uint32_t whole_mode = 0xf801, null_code = 124;

bool is_gfx12(const Forms& f) { return contains(gfx12, f.mode().arch); }
bool is_atomic(const Forms& f) { return f.row().name.find("_atomic_") != std::string_view::npos; }

void sop1(Forms& f) {
  // The only message that can be named is the question for the time; the only barrier is the workgroup's, -1.
  constexpr std::uint32_t get_realtime = 131, minus_one = 193;
  const bool barrier = f.row().name.starts_with("s_barrier_signal"), message = f.row().name.starts_with("s_sendmsg");
  const auto form = f.add("", 0xbe800000 | f.row().code << 8 | (barrier ? minus_one : message ? get_realtime : 0));
  form.at(dst, scalar, 16, 7);
  if (!barrier) form.at(src0, scalar, 0, 8);
}

void smem(Forms& f) {
  const bool gfx12 = is_gfx12(f);
  const std::uint32_t base = 0xf4000000 | f.row().code << (gfx12 ? 13 : 18);
  for (const bool soffset : {false, true}) {
    if (soffset && f.row().src[1] == Type::none) continue;
    const auto form = f.add(soffset ? "soffset" : "imm", base);
    form.set(57, 7, null_code).at(dst, scalar, 6, 7).at(src0, pair, 0, 6);
    if (soffset) form.at(src1, scalar, 57, 7);
    if (f.row().src[0] != Type::none) form.option(34, 4);
  }
}

}  // namespace

void add_rdna_scalar_forms(Forms& f) {
  const std::uint32_t code = f.row().code;
  switch (f.row().format) {
    case Format::sop1: sop1(f); break;
    case Format::sop2: {
      const auto form = f.add("", 0x80000000 | code << 23);
      form.at(dst, scalar, 16, 7).at(src0, scalar, 0, 8).at(src1, scalar, 8, 8);
      if (f.is(rdna_trait::literal_src1)) form.at(src2, scalar, 8, 8);
      break;
    }
    case Format::sopc: f.add("", 0xbf000000 | code << 16).at(src0, scalar, 0, 8).at(src1, scalar, 8, 8); break;
    case Format::sopk: {
      const bool names_register = f.row().name.find("etreg") != std::string_view::npos;
      const auto form = f.add("", 0xb0000000 | code << 23 | (names_register ? whole_mode : 0x1234));
      form.at(dst, scalar, 16, 7).at(src0, scalar, 16, 7);
      if (!names_register) form.option(0, 16);
      break;
    }
    case Format::sopp: f.add("", 0xbf800000 | code << 16 | (f.row().name == "s_barrier_wait" ? 0xffffU : 0)); break;
    default: smem(f); break;
  }
}

namespace {

constexpr std::uint32_t dpp16 = 250, dpp8 = 233, dpp8_inactive = 234;
constexpr std::uint32_t identity_dpp16 = 0xff00e400, identity_dpp8 = 0xfac68800;

// The DPP word: the register that is src0, and the rest of it.
void dpp_word(const Forms::Form& form, unsigned low, std::uint32_t code, Coding coding, unsigned flag) {
  form.at(src0, coding, low, 8, flag);
  if (code != dpp16) form.option(low + 8, 24);
  else form.option(low + 8, 9).option(low + 18, 1).option(low + 19, 1).option(low + 20, 4).option(low + 24, 8);
}
constexpr std::array<std::pair<const char*, std::uint32_t>, 3> dpp_kinds{
    {{"dpp16", dpp16}, {"dpp8", dpp8}, {"dpp8 fi", dpp8_inactive}}};
std::uint32_t identity(std::uint32_t code) { return code == dpp16 ? identity_dpp16 : identity_dpp8; }

// VOP3, also as the long form of VOP1, VOP2 and VOPC.
void vop3(Forms& f, unsigned code) {
  const Opcode& row = f.row();
  const bool scalar_result = row.dst == Type::mask || f.is(trait::scalar_dst);
  const auto half_bit = [](Type type, unsigned bit) { return rdna_isa::is_half(type) ? bit : 0U; };
  const unsigned sources = rdna_isa::encoded_sources(row);
  const auto add = [&](const std::string& name, std::uint32_t dpp) {
    const auto form = f.add(name, 0xd4000000 | code << 16, dpp, identity(dpp));
    form.at(dst, scalar_result ? scalar : vector, 0, 8, scalar_result ? 0 : half_bit(row.dst, 14));
    form.at(dst2, scalar, 8, 7);
    for (unsigned n = 0; n < sources; ++n)
      if (n > 0 || dpp == 0) form.at(static_cast<Slot>(src0 + n), source, 32 + 9 * n, 9, half_bit(row.src[n], 11 + n));
    if (dpp != 0) dpp_word(form, 64, dpp, vector, half_bit(row.src[0], 11));
    if (row.dst2 == Type::none) form.option(8, 3).option(11, 4);
    form.option(15, 1).option(59, 2).option(61, 3);
  };
  add("e64", 0);
  if (sources == 0) return;
  for (const auto& [name, dpp] : dpp_kinds) add(std::string("e64 ") + name, dpp);
}

// VOP1, VOP2 and VOPC in 32 bits.
void short_vector(Forms& f, std::uint32_t base) {
  const Opcode& row = f.row();
  const auto coding = [](Type type) { return rdna_isa::is_half(type) ? half : vector; };
  const auto add = [&](const std::string& name, std::uint32_t dpp) {
    const auto form = f.add(name, base | dpp, identity(dpp));
    if (row.format != Format::vopc) form.at(dst, f.is(trait::scalar_dst) ? scalar : coding(row.dst), 17, 8);
    if (dpp == 0) form.at(src0, rdna_isa::is_half(row.src[0]) ? half_source : source, 0, 9);
    else dpp_word(form, 32, dpp, coding(row.src[0]), 0);
    form.at(src1, coding(row.src[1]), 9, 8);
    if (f.is(rdna_trait::literal_src1)) form.at(src2, coding(row.src[2]), 9, 8);
  };
  add("e32", 0);
  for (const auto& [name, dpp] : dpp_kinds) add(name, dpp);
}

void vop3p(Forms& f) {
  const auto add = [&](const std::string& name, std::uint32_t dpp) {
    const auto form = f.add(name, 0xcc004000 | f.row().code << 16, 0x18000000 | dpp, identity(dpp));
    form.at(dst, vector, 0, 8);
    for (unsigned n = dpp != 0 ? 1 : 0; n < rdna_isa::encoded_sources(f.row()); ++n)
      form.at(static_cast<Slot>(src0 + n), source, 32 + 9 * n, 9);
    if (dpp != 0) dpp_word(form, 64, dpp, vector, 0);
    form.option(8, 3).option(11, 3).option(14, 1).option(15, 1).option(59, 2).option(61, 3);
  };
  add("", 0);
  for (const auto& [name, dpp] : dpp_kinds) add(name, dpp);
}

// Every operation as the X half with every one as the Y half. An operation that is only a Y half has a v_dual_mov_b32.
void vopd(Forms& f) {
  constexpr unsigned y_alone = 16, mov = 8;
  const bool has_x = f.row().code < y_alone;
  for (const Opcode& other : opcodes(f.mode().arch)) {
    if (other.format != Format::vopd || (!has_x && other.code != mov)) continue;
    const Opcode& x = has_x ? f.row() : other;
    const Opcode& y = has_x ? other : f.row();
    const auto form = f.add(has_x ? ":: " + std::string(y.name) : std::string(x.name) + " ::",
                            0xc8000000 | x.code << 22 | y.code << 17);
    const auto half = [&](const Opcode& row, Slot result, Slot first, unsigned low) {
      const bool second_last = (row.traits & rdna_trait::literal_src1) != 0;
      form.any(first, source, low, 9);
      if (row.src[1] != Type::none) form.any(static_cast<Slot>(first + (second_last ? 2 : 1)), vector, low + 9, 8);
      result == dst ? form.any(dst, vector, 56, 8) : form.any(y_dst, even_odd, 49, 7);
    };
    half(x, dst, src0, 0);
    half(y, y_dst, y_src0, 32);
  }
}

}  // namespace

void add_rdna_vector_forms(Forms& f) {
  const std::uint32_t code = f.row().code;
  switch (f.row().format) {
    case Format::vop1: short_vector(f, 0x7e000000 | code << 9), vop3(f, 0x180 + code); break;
    case Format::vop2: short_vector(f, code << 25), vop3(f, 0x100 + code); break;
    case Format::vopc: short_vector(f, 0x7c000000 | code << 17), vop3(f, code); break;
    case Format::vop3: vop3(f, code); break;
    case Format::vop3p: vop3p(f); break;
    default: vopd(f); break;
  }
}

namespace {

void ds(Forms& f) {
  const auto form = f.add("", 0xd8000000 | f.row().code << 18);
  form.at(src0, vector, 32, 8).at(src1, vector, 40, 8).at(src2, vector, 48, 8).at(dst, vector, 56, 8);
  if (f.is(trait::two_offsets)) form.option(0, 3).option(8, 3);
  else if (f.row().src[0] != Type::none || f.row().dst != Type::none) form.option(0, 6);
}

// What differs between gfx11 and gfx12: where the fields of FLAT, GLOBAL and SCRATCH are.
struct FlatFields {
  std::uint32_t base;
  unsigned dst, data, vaddr, saddr, vaddr_bit, returns, offset;
};
FlatFields flat_fields(const Forms& f) {
  const std::uint32_t segment = f.row().format == Format::flat ? 0 : f.row().format == Format::scratch ? 1 : 2;
  if (is_gfx12(f)) return {0xec000000 | segment << 24 | f.row().code << 14, 32, 55, 64, 0, 49, 52, 72};
  return {0xdc000000 | segment << 16 | f.row().code << 18, 56, 40, 32, 48, 55, 14, 0};
}

void flat(Forms& f) {
  const FlatFields at = flat_fields(f);
  const bool flat = f.row().format == Format::flat, scratch = f.row().format == Format::scratch;
  const bool has_vaddr = f.row().src[0] != Type::none;
  for (const bool saddr : {false, true})
    for (const bool vaddr : {false, true})
      for (const bool returns : {false, true}) {
        if ((saddr && flat) || (returns && !is_atomic(f))) continue;
        // Only private memory has a form without a VGPR; an operation that never has one needs the SGPRs.
        if (has_vaddr ? !vaddr && !scratch : vaddr || (!saddr && f.row().src[2] != Type::none)) continue;
        std::string name = std::string(vaddr ? "vaddr" : "") + (saddr ? " saddr" : "") + (returns ? " returns" : "");
        const auto form = f.add(name, at.base);
        form.set(at.saddr, 7, null_code).set(at.returns, 1, returns).option(at.offset, 6);
        form.at(dst, vector, at.dst, 8).at(src1, vector, at.data, 8);
        if (vaddr) form.at(src0, vector, at.vaddr, 8);
        if (saddr) form.at(src2, scalar, at.saddr, 7);
        if (scratch) form.set(at.vaddr_bit, 1, vaddr);
      }
}

struct BufferFields {
  std::uint32_t base;
  unsigned data, vaddr, resource, resource_bits, soffset, soffset_bits, offen, idxen, tfe, returns, offset, format;
};
BufferFields buffer_fields(const Forms& f) {
  const bool typed = f.row().format == Format::mtbuf;
  const std::uint32_t code = f.row().code;
  if (is_gfx12(f)) return {0xc4000000 | code << 14, 32, 64, 41, 7, 0, 7, 62, 63, 22, 52, 72, 55};
  return {typed ? 0xe8000000 | code << 15 : 0xe0000000 | code << 18, 40, 32, 48, 5, 56, 8, 54, 55, 53, 14, 0, 19};
}

void buffer(Forms& f) {
  const BufferFields at = buffer_fields(f);
  if (f.row().src[2] == Type::none) {  // cache control
    f.add("", at.base);
    return;
  }
  constexpr std::uint32_t rgba_float = 63;
  const bool typed = f.row().format == Format::mtbuf;
  for (const unsigned address : {0U, 1U, 2U, 3U})
    for (const bool tfe : {false, true})
      for (const bool returns : {false, true}) {
        if (returns && !is_atomic(f)) continue;
        const bool offen = (address & 1) != 0, idxen = (address & 2) != 0;
        const auto form = f.add(std::string(tfe ? "tfe" : "") + (returns ? " returns" : "") + (offen ? " offen" : "") +
                                    (idxen ? " idxen" : ""),
                                at.base);
        form.set(at.offen, 1, offen).set(at.idxen, 1, idxen).set(at.tfe, 1, tfe).set(at.returns, 1, returns);
        form.at(dst, vector, at.data, 8).at(src1, vector, at.data, 8).at(src3, scalar, at.soffset, at.soffset_bits);
        form.at(src2, at.resource_bits == 5 ? quad : scalar, at.resource, at.resource_bits).option(at.offset, 6);
        if (address != 0) form.at(src0, vector, at.vaddr, 8);
        if (typed) form.set(at.format, 7, rgba_float).option(at.format, 7);
      }
}

}  // namespace

void add_rdna_memory_forms(Forms& f) {
  switch (f.row().format) {
    case Format::ds: return ds(f);
    case Format::mubuf:
    case Format::mtbuf: return buffer(f);
    default: return flat(f);
  }
}

}  // namespace rapt::sim::test
