#include "sim/isa/facts/hazards.hpp"

#include "sim/isa/clocks.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

using kind::Kinds;

bool any_of(std::string_view name, std::initializer_list<std::string_view> stems) {
  return std::any_of(stems.begin(), stems.end(), [name](std::string_view s) { return name.starts_with(s); });
}

bool says(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

constexpr unsigned vskip_bit = 28;  // of gfx9's MODE

bool gfx940(Arch arch) { return arch == Arch::gfx942 || arch == Arch::gfx950; }

// gfx940 and later: products of f32 run on other hardware than products of narrower types ("_xf32" is one).
bool is_xdl(std::string_view name) { return !name.ends_with("_f32"); }

Kinds matrix_kinds(const Instruction& i) {
  const std::string_view name = i.opcode->name;
  Kinds kinds = kind::product;
  if (i.opcode->traits & trait::sparse) kinds |= kind::sparse;
  if (name.starts_with("v_mfma_f64")) kinds |= kind::f64_product;
  else if (is_xdl(name)) kinds |= kind::xdl;
  return kinds;
}

// The result is not in the low bits: SDWA, op_sel's destination bit, conversions to bytes and nibbles (LLVM:
// DstSelForwarding, CvtScaleForwarding).
bool shifts_result(const Instruction& i) {
  const std::string_view name = i.opcode->name;
  if (i.lane_map == LaneMap::sdwa) return i.dst_sel != SdwaSelect::dword;
  if (name.starts_with("v_cvt_scalef32_sr_pk_fp4")) return true;
  const bool to_byte = any_of(name, {"v_cvt_sr_fp8", "v_cvt_sr_bf8", "v_cvt_scalef32_sr_fp8", "v_cvt_scalef32_sr_bf8"});
  return i.opcode->format == Format::vop3 && (i.op_sel & (to_byte ? 12 : 8)) != 0;
}

Kinds valu_kinds(const Instruction& i, const Effects& e) {
  const std::string_view name = i.opcode->name;
  Kinds kinds = kind::valu;
  const auto mark = [&kinds](bool is, Kinds bit) { kinds |= is ? bit : 0; };
  if (e.unit == Unit::matrix) kinds |= matrix_kinds(i);
  mark(e.unit == Unit::trans && !name.starts_with("v_prng"), kind::trans);
  mark(name.starts_with("v_dot"), kind::dot);
  mark(i.lane_map == LaneMap::dpp16 || i.lane_map == LaneMap::dpp8, kind::dpp);
  mark(shifts_result(i), kind::shifts_result);
  mark(name.starts_with("v_accvgpr_read"), kind::accvgpr_read);
  mark(name.starts_with("v_accvgpr_write"), kind::accvgpr_write);
  mark(any_of(name, {"v_fma_f64", "v_fmac_f64"}), kind::fma_f64);
  mark(any_of(name, {"v_readlane", "v_readfirstlane"}), kind::reads_lane | kind::names_lane);
  mark(name.starts_with("v_writelane"), kind::names_lane);
  mark(any_of(name, {"v_readlane", "v_writelane"}) && i.src[1].kind == OperandKind::sgpr, kind::selects_lane);
  mark(name.starts_with("v_div_fmas"), kind::div_fmas);
  mark(name.starts_with("v_permlane"), kind::permlane);
  mark(name.starts_with("v_cmpx"), kind::compares_exec);
  mark(name == "v_nop", kind::nop);
  mark(name.starts_with("v_div_fmas"), kind::reads_mask);
  for (unsigned n = 0; n < i.src.size(); ++n)
    mark(i.opcode->src[n] == Type::mask && i.src[n].kind == OperandKind::sgpr, kind::reads_mask);
  return kinds;
}

Kinds scalar_kinds(const Instruction& i) {
  const std::string_view name = i.opcode->name;
  Kinds kinds = 0;
  const auto mark = [&kinds](bool is, Kinds bit) { kinds |= is ? bit : 0; };
  mark(name.starts_with("s_getreg"), kind::getreg);
  mark(name.starts_with("s_setreg"), kind::setreg);
  mark(name.starts_with("s_setvskip"), kind::setvskip);
  const unsigned field = i.immediate & 0xffff, first = field >> 6 & 31, last = first + (field >> 11);
  const bool mode = (field & 63) == 1;
  mark(mode && name.starts_with("s_getreg"), kind::getmode);
  mark(mode && name.starts_with("s_setreg") && first <= vskip_bit && last >= vskip_bit, kind::sets_vskip);
  mark(any_of(name, {"s_movrel", "s_sendmsg", "s_ttracedata"}), kind::reads_m0);
  if (name == "s_waitcnt_depctr" || name == "s_wait_alu") {
    mark((i.immediate >> 12 & 15) == 0, kind::waits_vdst);
    mark((i.immediate & 1) == 0, kind::waits_sdst);
  }
  return kinds;
}

Kinds memory_kinds(const Instruction& i, const Effects& e, Arch arch) {
  const std::string_view name = i.opcode->name;
  if (e.unit == Unit::lds) return kind::lds | (says(name, "addtid") || i.gds ? kind::reads_m0 : 0);
  const bool buffer = e.unit == Unit::buffer;
  const bool wide = e.stores && i.src[1].dwords > 2 && !(buffer && i.src[3].kind == OperandKind::sgpr);
  // LLVM (ReadM0LdsDmaHazard) waits for every load to LDS. CDNA3 ISA 4.5 names global and scratch ones only, and
  // kernels that AMD ships for gfx942 and gfx950 set M0 right before buffer_load ... lds.
  const bool m0 = (i.lds && !(buffer && gfx940(arch))) || (i.opcode->traits & trait::to_lds) != 0;
  return kind::memory | (wide ? kind::wide_store : 0) | (m0 ? kind::reads_m0 : 0);
}

Kinds register_kinds(const Effects& e, Kinds kinds) {
  for (const RegisterAccess& r : e.reads())
    if (r.file == RegisterFile::sgpr && (r.source != Effects::implied || r.first == sreg::vcc))
      kinds |= kind::reads_scalar;
  for (const RegisterAccess& w : e.writes()) {
    const bool exec = w.file == RegisterFile::sgpr && w.first <= sreg::exec + 1 && w.first + w.count > sreg::exec;
    if (exec) kinds |= kind::writes_exec;
    if ((kinds & kind::salu) && w.file == RegisterFile::sgpr && w.first == sreg::m0) kinds |= kind::writes_m0;
    if (!(kinds & kind::valu)) continue;
    if (w.file == RegisterFile::vgpr || w.file == RegisterFile::agpr) kinds |= kind::writes_vector;
    else if (w.file == RegisterFile::sgpr && !exec) kinds |= kind::writes_scalar;
  }
  return kinds;
}

// The earlier instructions that gfx9's short rules (check/hazards/cdna.cpp) look for, and how far back.
void watch(HazardFacts& f, Arch arch) {
  const bool gfx90a = !contains(before_gfx90a, arch), gfx940 = arch == Arch::gfx942 || arch == Arch::gfx950;
  const auto look = [&f](Kinds is, Kinds watches, unsigned window) {
    if ((f.kinds & is) == 0) return;
    f.watches |= watches;
    f.window = std::max(f.window, static_cast<std::uint8_t>(window));
  };
  const bool reads_scalar = (f.kinds & (kind::reads_scalar | kind::reads_m0)) != 0;
  if (reads_scalar) look(kind::memory, kind::writes_scalar, 5);
  look(kind::dpp, kind::writes_vector | kind::writes_exec, 5);
  look(kind::div_fmas | kind::selects_lane, kind::writes_scalar, 4);
  look(kind::getreg | kind::setreg, kind::setreg, 2);
  look(kind::getmode, kind::setvskip, 2);
  look(kind::valu | kind::memory | kind::lds, kind::sets_vskip, 2);
  look(kind::reads_m0, kind::writes_m0, 1);
  look(kind::writes_vector, kind::wide_store, gfx940 ? 2 : 1);
  look(kind::product | (gfx90a ? 0 : kind::accvgpr_write), kind::late_vector | kind::writes_exec, 4);
  if (gfx90a) {
    look(kind::valu | kind::memory | kind::lds, kind::dot, 3);
    look(kind::fma_f64, kind::f64_product, 2);
    if (!gfx940) look(kind::memory | kind::lds, kind::writes_vector, 2);
  } else {
    look(kind::accvgpr_read, kind::accvgpr_write, 3);
    look(kind::memory | kind::lds, kind::accvgpr_read | kind::accvgpr_write, 2);
  }
  if (gfx940) {
    look(kind::valu, kind::trans | kind::shifts_result, 1);
    if (reads_scalar) look(kind::valu, kind::writes_scalar, 2);
    look(kind::names_lane, kind::writes_exec | kind::writes_vector, 4);
  }
  if (arch == Arch::gfx950) look(kind::permlane, kind::writes_vector | kind::compares_exec, 4);
}

}  // namespace

HazardFacts hazard_facts(const Instruction& i, const Effects& e, Arch arch) {
  HazardFacts f;
  switch (e.unit) {
    case Unit::valu:
    case Unit::trans:
    case Unit::matrix: f.kinds = valu_kinds(i, e); break;
    case Unit::salu: f.kinds = kind::salu | scalar_kinds(i); break;
    case Unit::wait:
    case Unit::message:
    case Unit::other: f.kinds = scalar_kinds(i); break;
    case Unit::lds:
    case Unit::global:
    case Unit::flat:
    case Unit::scratch:
    case Unit::buffer: f.kinds = memory_kinds(i, e, arch); break;
    default: break;
  }
  f.kinds = register_kinds(e, f.kinds);
  const kind::Kinds forwarded = kind::product | (contains(before_gfx90a, arch) ? 0 : kind::dot);
  if ((f.kinds & kind::writes_vector) && (f.kinds & forwarded) == 0) f.kinds |= kind::late_vector;
  if (i.opcode->name == "s_nop")
    f.wait_states = static_cast<std::uint8_t>((i.immediate & (is_cdna(arch) ? 15 : 127)) + 1);
  if (f.kinds & (kind::getreg | kind::setreg)) f.hardware_register = static_cast<std::uint8_t>(i.immediate & 63);
  if (is_cdna(arch)) {
    if (f.kinds & kind::product) f.passes = static_cast<std::uint8_t>(matrix_passes(i.opcode->name, arch));
    watch(f, arch);
  }
  return f;
}

}  // namespace rapt::sim
