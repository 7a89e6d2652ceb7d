// The formats of gfx908 to gfx950 (CDNA ISA documents, "Microcode formats").
#include "sim/tests/support/instructions/any_encoding.hpp"

#include <span>

namespace rapt::sim::test {
namespace {

using enum Coding;

Coding destination(const Forms& f) { return f.row().dst == Type::mask || f.is(trait::scalar_dst) ? scalar : vector; }

// s_getreg and s_setreg name a register: all of MODE.
constexpr std::uint32_t whole_mode = 0xf801;

bool is_atomic(const Forms& f) { return f.row().name.find("atomic") != std::string_view::npos; }

void smem(Forms& f) {
  const std::uint32_t base = 0xc0000000 | f.row().code << 18;
  struct Offset {
    const char* name;
    std::uint32_t bits;
    unsigned soffset;
  };
  constexpr std::uint32_t imm = 1U << 17, soffset_en = 1U << 14, glc = 1U << 16;
  constexpr Offset offsets[] = {
      {"imm", imm, 0}, {"soffset", soffset_en, 57}, {"imm soffset", imm | soffset_en, 57}, {"offset in sgpr", 0, 32}};
  for (const Offset& offset : offsets)
    for (const bool returns : {false, true}) {
      if (returns && !is_atomic(f)) continue;
      if (f.row().src[0] == Type::none && offset.soffset != 32) continue;
      const auto form =
          f.add(std::string(offset.name) + (returns ? " glc" : ""), base | offset.bits | (returns ? glc : 0));
      form.at(dst, scalar, 6, 7).at(src2, scalar, 6, 7).at(src0, pair, 0, 6);
      if (offset.soffset != 0) form.at(src1, scalar, offset.soffset, 7);
      if ((offset.bits & imm) != 0) form.option(34, 4);
    }
}

}  // namespace

void add_gfx9_scalar_forms(Forms& f) {
  const std::uint32_t code = f.row().code;
  switch (f.row().format) {
    case Format::sop1: f.add("", 0xbe800000 | code << 8).at(dst, scalar, 16, 7).at(src0, scalar, 0, 8); break;
    case Format::sop2:
      f.add("", 0x80000000 | code << 23).at(dst, scalar, 16, 7).at(src0, scalar, 0, 8).at(src1, scalar, 8, 8);
      break;
    case Format::sopc: f.add("", 0xbf000000 | code << 16).at(src0, scalar, 0, 8).at(src1, scalar, 8, 8); break;
    case Format::sopk: {
      const bool names_register = f.row().name.find("etreg") != std::string_view::npos;
      const auto form = f.add("", 0xb0000000 | code << 23 | (names_register ? whole_mode : 0x1234));
      form.at(dst, scalar, 16, 7).at(src0, scalar, 16, 7);
      if (!names_register) form.option(0, 16);
      break;
    }
    case Format::sopp: f.add("", 0xbf800000 | code << 16); break;
    default: smem(f); break;
  }
}

namespace {

void vop3(Forms& f, unsigned code) {
  const auto form = f.add("e64", 0xd0000000 | code << 16);
  form.at(dst, destination(f), 0, 8).at(dst2, scalar, 8, 7).at(src0, source, 32, 9).at(src1, source, 41, 9);
  if (!f.is(trait::reads_dst) || f.row().src[2] == Type::none) form.at(src2, source, 50, 9);
  if (f.row().dst2 == Type::none) form.option(8, 3).option(11, 4);
  form.option(15, 1).option(59, 2).option(61, 3);
}

constexpr std::uint32_t identity_dpp = 0xff00e400, whole_dwords = 0x06060600;

void sdwa_options(const Forms::Form& form) {
  form.option(40, 3).option(43, 2).option(45, 3).option(48, 3).option(51, 3).option(56, 3).option(59, 3);
}
void dpp_options(const Forms::Form& form) { form.option(40, 9).option(51, 1).option(52, 4).option(56, 8); }

void vop1(Forms& f) {
  const std::uint32_t base = 0x7e000000 | f.row().code << 9;
  f.add("e32", base).at(dst, destination(f), 17, 8).at(src0, source, 0, 9);
  vop3(f, 0x140 + f.row().code);
  if (f.row().dst == Type::none) return;
  const auto sdwa_form = f.add("sdwa", base | 0xf9, whole_dwords & 0x00ffff00);
  sdwa_form.at(dst, vector, 17, 8).at(src0, sdwa, 32, 8, 55);
  sdwa_options(sdwa_form);
  const auto dpp = f.add("dpp", base | 0xfa, identity_dpp);
  dpp.at(dst, vector, 17, 8).at(src0, vector, 32, 8);
  dpp_options(dpp);
}

void vop2(Forms& f) {
  const std::uint32_t base = static_cast<std::uint32_t>(f.row().code) << 25;
  const auto short_form = f.add("e32", base);
  short_form.at(dst, vector, 17, 8).at(src0, source, 0, 9).at(src1, vector, 9, 8);
  if (f.is(trait::no_e64)) {  // with a literal: it, or the VGPR, comes last
    short_form.at(src2, vector, 9, 8);
    return;
  }
  vop3(f, 0x100 + f.row().code);
  const auto sdwa_form = f.add("sdwa", base | 0xf9, whole_dwords);
  sdwa_form.at(dst, vector, 17, 8).at(src0, sdwa, 32, 8, 55).at(src1, sdwa, 9, 8, 63);
  sdwa_options(sdwa_form);
  const auto dpp = f.add("dpp", base | 0xfa, identity_dpp);
  dpp.at(dst, vector, 17, 8).at(src0, vector, 32, 8).at(src1, vector, 9, 8);
  dpp_options(dpp);
}

void vopc(Forms& f) {
  const std::uint32_t base = 0x7c000000 | f.row().code << 17;
  f.add("e32", base).at(src0, source, 0, 9).at(src1, vector, 9, 8);
  vop3(f, f.row().code);
  for (const bool named : {false, true}) {
    const auto form = f.add(named ? "sdwa sdst" : "sdwa", base | 0xf9, whole_dwords & 0xffff0000);
    form.at(src0, sdwa, 32, 8, 55).at(src1, sdwa, 9, 8, 63).option(48, 3).option(51, 3).option(56, 3).option(59, 3);
    if (named) form.set(47, 1, 1).at(dst, scalar, 40, 7);
  }
}

void vop3p(Forms& f) {
  const auto form = f.add("", 0xd3804000 | f.row().code << 16, 0x18000000);
  form.at(dst, vector, 0, 8).at(src0, source, 32, 9).at(src1, source, 41, 9).at(src2, source, 50, 9);
  if (!f.is(trait::acc_dst | trait::acc_src0))
    form.option(8, 3).option(11, 3).option(14, 1).option(15, 1).option(59, 2).option(61, 3);
}

// MFMA and SMFMAC: which operands are AGPRs is in the words, and for f8f6f4 how long A and B are.
void matrix(Forms& f) {
  struct Choice {
    const char* name;
    unsigned cd, ab;
  };
  constexpr Choice choices[] = {{"", 0, 0}, {"acc D", 1, 0}, {"acc A B", 0, 3}, {"acc", 1, 3}};
  constexpr std::pair<unsigned, unsigned> formats[] = {{0, 0}, {2, 4}, {4, 2}, {3, 1}};
  const bool by_format = f.row().name.ends_with("f8f6f4"), scaled = (f.row().code & 0x80) != 0;
  const unsigned at = scaled ? 64 : 0;
  const std::uint32_t base = 0xd3800000 | (f.row().code & 0x7fU) << 16;
  for (const Choice& c : choices)
    for (const auto& [a, b] : std::span(formats).first(by_format ? 4 : 1)) {
      std::string name = c.name;
      if (by_format) name += " cbsz " + std::to_string(a) + " blgp " + std::to_string(b);
      const auto form = scaled ? f.add(name, 0xd3ac0000, 0, base | 1U << 11) : f.add(name, base);
      form.set(at + 15, 1, c.cd).set(at + 59, 2, c.ab);
      form.at(dst, vector, at, 8)
          .at(src0, source, at + 32, 9)
          .at(src1, source, at + 41, 9)
          .at(src2, source, at + 50, 9);
      if (by_format) form.set(at + 8, 3, a).set(at + 61, 3, b);
      else form.option(8, 3).option(11, 4).option(61, 3);
      if (scaled) form.at(src3, source, 32, 9).at(src4, source, 41, 9).option(11, 2).option(59, 2);
    }
}

}  // namespace

void add_gfx9_vector_forms(Forms& f) {
  switch (f.row().format) {
    case Format::vop1: return vop1(f);
    case Format::vop2: return vop2(f);
    case Format::vopc: return vopc(f);
    case Format::vop3: return vop3(f, f.row().code);
    default: return f.is(trait::matrix | trait::sparse) ? matrix(f) : vop3p(f);
  }
}

namespace {

void ds(Forms& f) {
  for (const bool acc : {false, true}) {
    const auto form = f.add(acc ? "acc" : "", 0xd8000000 | f.row().code << 17);
    form.set(25, 1, acc).at(src0, vector, 32, 8).at(src1, vector, 40, 8).at(src2, vector, 48, 8).at(dst, vector, 56, 8);
    if (f.is(trait::two_offsets)) form.option(0, 3).option(8, 3);
    else if (f.row().src[0] != Type::none || f.row().dst != Type::none) form.option(0, 6);
  }
}

void flat(Forms& f) {
  const Format format = f.row().format;
  const bool flat = format == Format::flat, scratch = format == Format::scratch;
  const bool address_bit = scratch && (f.has(Arch::gfx942) || f.has(Arch::gfx950));
  const std::uint32_t base = 0xdc000000 | f.row().code << 18 | (flat ? 0U : scratch ? 1U : 2U) << 14;
  const auto add = [&](const std::string& name, bool vaddr, bool saddr, std::uint32_t bits, bool acc) {
    const auto form = f.add(name, base | bits);
    form.set(48, 7, flat ? 0 : 0x7f).set(55, 1, acc).option(0, 6);
    form.at(src1, vector, 40, 8).at(dst, vector, 56, 8);
    if (vaddr) form.at(src0, vector, 32, 8);
    if (saddr) form.at(src2, scalar, 48, 7);
    if (address_bit) form.set(13, 1, vaddr);
  };
  for (const bool saddr : {false, true})
    for (const bool vaddr : {true, false}) {
      if ((saddr && flat) || (!vaddr && !scratch) || (!address_bit && scratch && vaddr == saddr)) continue;
      std::string name = std::string(vaddr ? "vaddr" : "") + (saddr ? " saddr" : "");
      add(name, vaddr, saddr, 0, false), add(name + " acc", vaddr, saddr, 0, true);
      if (is_atomic(f))
        add(name + " glc", vaddr, saddr, 1U << 16, false), add(name + " glc acc", vaddr, saddr, 1U << 16, true);
      if (f.is(trait::lds_option)) add(name + " lds", vaddr, saddr, 1U << 13, false);
    }
}

void buffer(Forms& f) {
  const bool typed = f.row().format == Format::mtbuf;
  // 32_32_32_32 float.
  const std::uint32_t base =
      typed ? 0xe8000000 | f.row().code << 15 | 14U << 19 | 7U << 23 : 0xe0000000 | f.row().code << 18;
  constexpr std::uint32_t offen = 1U << 12, idxen = 1U << 13, glc = 1U << 14, lds = 1U << 16, bit55 = 1U << 23;
  if (f.row().src[2] == Type::none) {  // cache control
    f.add("", base);
    return;
  }
  const auto add = [&](std::string name, std::uint32_t bits, std::uint32_t second) {
    if ((bits & offen) != 0) name += " offen";
    if ((bits & idxen) != 0) name += " idxen";
    const auto form = f.add(name, base | bits, second);
    if ((bits & (offen | idxen)) != 0) form.at(src0, vector, 32, 8);
    form.at(src1, vector, 40, 8).at(dst, vector, 40, 8).at(src2, quad, 48, 5).at(src3, scalar, 56, 8).option(0, 6);
    if (typed) form.option(19, 7);
  };
  for (const std::uint32_t address : {0U, offen, idxen, offen | idxen}) {
    add("", address, 0);
    add(f.before_gfx90a() ? "tfe" : "acc", address, bit55);
    if (is_atomic(f)) add("glc", address | glc, 0);
    if (is_atomic(f) && !f.before_gfx90a()) add("glc acc", address | glc, bit55);
    if (!typed) add("lds", address | lds, 0);
  }
}

}  // namespace

void add_gfx9_memory_forms(Forms& f) {
  switch (f.row().format) {
    case Format::ds: return ds(f);
    case Format::mubuf:
    case Format::mtbuf: return buffer(f);
    default: return flat(f);
  }
}

}  // namespace rapt::sim::test
