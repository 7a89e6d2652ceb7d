#include "sim/isa/effects.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

bool any_of(std::string_view name, std::initializer_list<std::string_view> stems) {
  return std::any_of(stems.begin(), stems.end(), [name](std::string_view s) { return name.starts_with(s); });
}

bool is_transcendental(std::string_view name) {
  return any_of(name, {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_", "v_s_exp", "v_s_log",
                       "v_s_rcp", "v_s_rsq", "v_s_sqrt", "v_prng_"});
}

Unit scalar_unit(const Instruction& i) {
  const std::string_view name = i.opcode->name;
  if (i.opcode->format == Format::smem) return Unit::smem;
  if (any_of(name, {"s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call", "s_endpgm", "s_rfe", "s_subvector"}))
    return Unit::branch;
  if (any_of(name, {"s_waitcnt", "s_wait_"})) return Unit::wait;
  if (name.starts_with("s_barrier")) return Unit::barrier;
  if (name.starts_with("s_sendmsg")) return Unit::message;
  return i.opcode->format == Format::sopp ? Unit::other : Unit::salu;
}

Unit unit_of(const Instruction& i) {
  switch (i.opcode->format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopk:
    case Format::sopc:
    case Format::sopp:
    case Format::smem: return scalar_unit(i);
    case Format::ds: return Unit::lds;
    case Format::flat: return Unit::flat;
    case Format::global: return Unit::global;
    case Format::scratch: return Unit::scratch;
    case Format::mubuf:
    case Format::mtbuf: return Unit::buffer;
    case Format::ldsdir: return Unit::lds;
    case Format::unsupported: return Unit::other;
    default: break;
  }
  if (i.opcode->traits & (trait::matrix | trait::sparse)) return Unit::matrix;
  return is_transcendental(i.opcode->name) ? Unit::trans : Unit::valu;
}

class Collector {
 public:
  Collector(Effects& effects, unsigned lanes) : effects_(effects), lanes_(lanes) {}

  void read(const Operand& o, unsigned number, Use use) {
    if (const auto access = place(o))
      effects_.read({access->file, static_cast<std::uint8_t>(number), access->first, access->count, use});
    if (o.kind == OperandKind::special) read_special(o.index);
  }
  void write(const Operand& o) {
    if (const auto access = place(o)) effects_.write(*access);
  }
  void read_implied(RegisterFile file, unsigned first, unsigned count, Use use) {
    effects_.read({file, Effects::implied, static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(count), use});
  }
  void write_implied(RegisterFile file, unsigned first, unsigned count) {
    effects_.write({file, Effects::implied, static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(count)});
  }
  void read_mask(unsigned first, Use use) { read_implied(RegisterFile::sgpr, first, mask_registers(), use); }
  void write_mask(unsigned first) { write_implied(RegisterFile::sgpr, first, mask_registers()); }
  unsigned mask_registers() const { return lanes_ / 32; }

 private:
  static std::optional<RegisterAccess> place(const Operand& o) {
    const auto make = [&o](RegisterFile file) { return RegisterAccess{file, 0, o.index, o.dwords, Use::value}; };
    switch (o.kind) {
      case OperandKind::vgpr: return make(RegisterFile::vgpr);
      case OperandKind::agpr: return make(RegisterFile::agpr);
      case OperandKind::sgpr: return o.index == sreg::null ? std::nullopt : std::optional(make(RegisterFile::sgpr));
      default: return {};
    }
  }
  void read_special(unsigned code) {
    if (code == 251) read_mask(sreg::vcc, Use::value);
    if (code == 252) read_mask(sreg::exec, Use::value);
    if (code == 253) read_implied(RegisterFile::scc, 0, 1, Use::value);
    if (code == 254) read_implied(RegisterFile::sgpr, sreg::m0, 1, Use::address);
  }

  Effects& effects_;
  unsigned lanes_;
};

// Scalar operations that leave SCC unchanged; the others of their formats write it.
bool writes_scc(const Instruction& i) {
  const std::string_view name = i.opcode->name;
  switch (i.opcode->format) {
    case Format::sopc: return !any_of(name, {"s_set_gpr_idx", "s_setvskip"});
    case Format::sopk: return any_of(name, {"s_cmpk", "s_addk"});
    case Format::sop2:
      return !any_of(name,
                     {"s_cselect", "s_mul", "s_bfm", "s_pack", "s_add_f", "s_sub_f", "s_min_f", "s_max_f", "s_min_num",
                      "s_max_num", "s_minimum", "s_maximum", "s_fma", "s_cvt", "s_add_nc", "s_sub_nc"});
    case Format::sop1:
      return any_of(name, {"s_not", "s_wqm", "s_quadmask", "s_bcnt", "s_abs", "s_barrier_signal_isfirst"}) ||
             name.find("saveexec") != name.npos || name.find("wrexec") != name.npos;
    default: return false;
  }
}

bool reads_scc(std::string_view name) {
  return any_of(name, {"s_cselect", "s_cmov", "s_addc", "s_subb", "s_add_co_ci", "s_sub_co_ci", "s_cbranch_scc"});
}

void scalar_effects(const Instruction& i, Collector& c) {
  const std::string_view name = i.opcode->name;
  const bool memory = i.opcode->format == Format::smem;
  const bool jump = any_of(name, {"s_setpc", "s_swappc"});
  for (unsigned n = 0; n < i.src.size(); ++n)
    c.read(i.src[n], n,
           memory                     ? (n == 2 ? Use::store : Use::address)
           : jump                     ? Use::address
           : is_control_operand(i, n) ? Use::control
                                      : Use::value);
  if (i.opcode->traits & trait::reads_dst || any_of(name, {"s_bitset", "s_cmov", "s_fmac", "s_addk", "s_mulk"}))
    c.read(i.dst, Effects::implied, Use::value);
  if (!memory || name.find("load") != name.npos || name.find("time") != name.npos || i.glc) c.write(i.dst);
  if (memory && i.glc && name.find("atomic") != name.npos) c.write(i.src[2]);
  if (reads_scc(name))
    c.read_implied(RegisterFile::scc, 0, 1, name.starts_with("s_cbranch") ? Use::condition : Use::value);
  if (writes_scc(i)) c.write_implied(RegisterFile::scc, 0, 1);
  if (name.starts_with("s_cbranch_vcc")) c.read_mask(sreg::vcc, Use::condition);
  if (name.starts_with("s_cbranch_exec")) c.read_mask(sreg::exec, Use::condition);
  if (name.find("saveexec") != name.npos || name.find("wrexec") != name.npos) {
    c.read_mask(sreg::exec, Use::value);
    c.write_mask(sreg::exec);
  }
  if (any_of(name, {"s_movrel", "s_sendmsg", "s_ttracedata"}))
    c.read_implied(RegisterFile::sgpr, sreg::m0, 1, Use::control);
  if (any_of(name, {"s_set_gpr_idx"})) c.write_implied(RegisterFile::sgpr, sreg::m0, 1);
}

void valu_effects(const Instruction& i, Effects& e, Collector& c) {
  const std::string_view name = i.opcode->name;
  for (unsigned n = 0; n < i.src.size(); ++n) c.read(i.src[n], n, is_control_operand(i, n) ? Use::control : Use::value);
  if (i.opcode->traits & trait::reads_dst) c.read(i.dst, Effects::implied, Use::value);
  c.write(i.dst);
  c.write(i.dst2);
  e.per_lane = !any_of(name, {"v_readlane", "v_readfirstlane", "v_writelane"}) && e.unit != Unit::matrix;
  e.partial_dst |= name.starts_with("v_writelane") ||
                   (i.lane_map == LaneMap::sdwa && i.dst_unused == SdwaUnused::preserve) ||
                   (i.dst.high && i.dst.kind == OperandKind::vgpr);
  if (name.starts_with("v_div_fmas")) c.read_mask(sreg::vcc, Use::value);
  if (name.starts_with("v_cmpx")) c.write_mask(sreg::exec);
  if (any_of(name, {"v_swap", "v_permlane16_swap", "v_permlane32_swap"})) {
    c.read(i.dst, Effects::implied, Use::value);
    c.write(i.src[0]);
  }
  if (name.starts_with("v_movrel")) c.read_implied(RegisterFile::sgpr, sreg::m0, 1, Use::address);
  if (i.dual) valu_effects(*i.dual, e, c);
}

void memory_effects(const Instruction& i, Effects& e, Collector& c) {
  const std::string_view name = i.opcode->name;
  const bool lds = e.unit == Unit::lds;
  const auto says = [name](std::string_view part) { return name.find(part) != name.npos; };
  const bool exchange = any_of(name, {"ds_bpermute", "ds_permute", "ds_swizzle"});
  const bool arithmetic =
      lds &&
      any_of(name, {"ds_add",       "ds_sub",  "ds_rsub",   "ds_inc",      "ds_dec",      "ds_min",      "ds_max",
                    "ds_and",       "ds_or",   "ds_xor",    "ds_mskor",    "ds_cmpst",    "ds_cmpstore", "ds_wrxchg",
                    "ds_storexchg", "ds_wrap", "ds_pk_add", "ds_condxchg", "ds_cond_sub", "ds_append",   "ds_consume"});
  e.atomic = says("atomic") || arithmetic;
  e.loads = !exchange && (says("load") || says("read") || (e.atomic && i.dst.kind != OperandKind::none));
  e.stores = says("store") || says("write") || e.atomic;
  e.per_lane = true;
  e.partial_dst |= says("d16");
  for (unsigned n = 0; n < i.src.size(); ++n) {
    const bool data = n == 1 || (lds && n == 2);
    c.read(i.src[n], n, exchange ? (n == 0 ? Use::control : Use::value) : data ? Use::store : Use::address);
  }
  if (e.partial_dst) c.read(i.dst, Effects::implied, Use::value);
  c.write(i.dst);
  if (says("_lds") || i.lds) c.read_implied(RegisterFile::sgpr, sreg::m0, 1, Use::address);
}

}  // namespace

bool is_control_operand(const Instruction& i, unsigned n) {
  std::string_view name = i.opcode->name;
  if (i.opcode->src[n] == Type::mask) return true;
  if (any_of(name, {"s_lshl_b", "s_lshr_b", "s_ashr_i", "s_bfe"})) return n == 1;
  std::string plain;
  if (name.starts_with("v_dual_")) name = plain = "v_" + std::string(name.substr(7));
  if (any_of(name, {"v_lshlrev", "v_lshrrev", "v_ashrrev", "v_pk_lshlrev", "v_pk_lshrrev", "v_pk_ashrrev"}))
    return n == 0;
  if (any_of(name, {"v_bfe"})) return n > 0;
  if (any_of(name, {"v_lshl_add", "v_lshl_or", "v_readlane", "v_writelane"})) return n == 1;
  if (any_of(name, {"v_add_lshl", "v_perm_b32", "v_alignbit", "v_alignbyte"})) return n == 2;
  return any_of(name, {"v_permlane16_b32", "v_permlanex16_b32"}) && n > 0;
}

Effects effects(const Instruction& i, unsigned lanes) {
  Effects e;
  e.unit = unit_of(i);
  Collector c(e, lanes);
  switch (i.opcode->format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopk:
    case Format::sopc:
    case Format::sopp:
    case Format::smem:
      scalar_effects(i, c);
      e.loads = e.unit == Unit::smem && i.opcode->name.find("load") != std::string_view::npos;
      e.stores = e.unit == Unit::smem && i.opcode->name.find("store") != std::string_view::npos;
      e.atomic = e.unit == Unit::smem && i.opcode->name.find("atomic") != std::string_view::npos;
      break;
    case Format::ds:
    case Format::flat:
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf: memory_effects(i, e, c); break;
    case Format::unsupported: break;
    default: valu_effects(i, e, c); break;
  }
  return e;
}

}  // namespace rapt::sim
