#include "sim/tests/support/instructions/any_scene.hpp"

#include "sim/machine/lds/arrivals.hpp"
#include "sim/machine/scalar/operands.hpp"

#include <algorithm>

namespace rapt::sim::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 lds_bytes = 8192, memory_bytes = 32768;
constexpr u32 start = 1024;  // of the part of memory that addresses lead to: offsets may be negative

// Valid values of one instruction's operands.
class Values {
 public:
  Values(MachineState& state, const Instruction& i, Target target, std::mt19937& random, bool beyond)
      : state_(state), i_(i), target_(target), random_(random), beyond_(beyond) {}

  u32 below(u32 n) { return static_cast<u32>(random_() % n); }
  bool gfx9() const { return is_cdna(target_.arch); }
  bool named(std::string_view part) const { return i_.opcode->name.find(part) != std::string_view::npos; }
  u64 offset() const { return static_cast<u64>(std::int64_t{i_.offset}); }

  template <typename Value>  // of each lane
  void vgpr(const Operand& o, unsigned dword, Value value) {
    if (o.kind != OperandKind::vgpr) return;
    u32* row = &state_.vgpr[std::size_t{o.index + dword} * target_.lanes];
    for (unsigned l = 0; l < target_.lanes; ++l) row[l] = value(l);
  }
  template <typename Value>
  void vgpr_pair(const Operand& o, Value value) {
    std::array<u64, 64> values;
    for (unsigned l = 0; l < target_.lanes; ++l) values[l] = value(l);
    vgpr(o, 0, [&](unsigned l) { return static_cast<u32>(values[l]); });
    vgpr(o, 1, [&](unsigned l) { return static_cast<u32>(values[l] >> 32); });
  }
  void sgpr(const Operand& o, unsigned dword, u32 value) {
    if (o.kind == OperandKind::sgpr) state_.sgpr[o.index + dword] = value;
  }
  void sgpr_pair(const Operand& o, u64 value) {
    sgpr(o, 0, static_cast<u32>(value)), sgpr(o, 1, static_cast<u32>(value >> 32));
  }

  void flat(u64 memory);
  void global(u64 memory);
  void scratch();
  void lds();
  void buffer(u64 memory, u64 scratch);
  void scalar_memory(u64 memory);
  void relative();

 private:
  MachineState& state_;
  const Instruction& i_;
  Target target_;
  std::mt19937& random_;
  bool beyond_;
};

// Lanes in global memory, in LDS and in private memory.
void Values::flat(u64 memory) {
  vgpr_pair(i_.src[0], [&](unsigned) {
    const u32 at = 16 * below(16);
    switch (below(4)) {
      case 0: return shared_aperture + 256 + at - offset();
      case 1: return private_aperture + 64 + at - offset();
      default: return memory + start + at - offset();
    }
  });
}

void Values::global(u64 memory) {
  const u64 first = memory + start - offset();
  if (i_.src[2].kind == OperandKind::sgpr) {
    sgpr_pair(i_.src[2], first);
    vgpr(i_.src[0], 0, [&](unsigned) { return 16 * below(64); });
  } else {
    vgpr_pair(i_.src[0], [&](unsigned) { return first + 16 * below(64); });
  }
}

void Values::scratch() {
  const u32 base = i_.src[2].kind == OperandKind::sgpr ? 16 * below(4) : 0;
  sgpr(i_.src[2], 0, base);
  vgpr(i_.src[0], 0, [&](unsigned) { return 64 + 16 * below(14); });
}

void Values::lds() {
  state_.sgpr[sreg::m0] = 64 * below(8);  // of append, consume, and what adds the lane's number
  if (named("permute") || named("swizzle")) return;
  const u32 offset = i_.opcode->traits & trait::two_offsets ? 0 : static_cast<u32>(i_.offset);
  vgpr(i_.src[0], 0, [&](unsigned) { return (beyond_ && below(4) == 0 ? lds_bytes : 64 + 16 * below(128)) - offset; });
}

void Values::buffer(u64 memory, u64 scratch) {
  const bool format = i_.opcode->format == Format::mtbuf || named("format"), atomic = named("atomic");
  state_.sgpr[sreg::m0] = 64 * below(8);
  // Atomics need aligned addresses.
  sgpr(i_.src[3], 0, 16 * below(4) + (atomic ? (0U - static_cast<u32>(i_.offset)) % 8 : 0));
  // Swizzled elements have 4 bytes, too few for some atomics.
  const unsigned kind = below(atomic ? 2 : gfx9() && !i_.idxen && !format ? 4 : 3);
  const u32 stride = kind == 0 ? 0 : 16 << below(3);
  const u32 records = kind == 0 ? (beyond_ ? 256 : 4096) : beyond_ ? 12 : 32;
  const u32 index_stride = below(4), out_of_bounds = below(4);
  u32 high = static_cast<u32>(memory >> 32) & 0xffff, last = 0xfac | index_stride << 21;
  if (gfx9()) last |= below(8) << 12 | (format ? 1 + below(14) : 0) << 15;
  else last |= (1 + below(63)) << 12 | out_of_bounds << 28;
  if (kind == 2) high |= gfx9() ? 0x80000000 : 1U << 30;  // swizzled
  sgpr_pair(i_.src[2], ((memory + start) & 0xffffffff) | u64{high | stride << 16} << 32);
  sgpr(i_.src[2], 2, records), sgpr(i_.src[2], 3, last);
  if (kind == 3) {  // LLVM's descriptor of private memory: swizzled by 64 lanes, the lane's number added
    sgpr_pair(i_.src[2], scratch | u64{0x80000000} << 32);
    sgpr(i_.src[2], 2, 0xffffffff), sgpr(i_.src[2], 3, 0x00e00000), sgpr(i_.src[3], 0, 0);
  }
  if (i_.idxen) vgpr(i_.src[0], 0, [&](unsigned) { return below(16); });
  if (i_.offen) vgpr(i_.src[0], i_.idxen, [&](unsigned) { return 8 * below(kind == 0 || kind == 3 ? 48 : 6); });
}

void Values::scalar_memory(u64 memory) {
  const bool descriptor = i_.src[0].dwords == 4, blocks = named("scratch");
  sgpr_pair(i_.src[0], memory + start + 64 * below(16) - (descriptor ? 0 : offset()));
  if (descriptor) {
    state_.sgpr[i_.src[0].index + 1] &= 0xffff;  // stride 0
    sgpr(i_.src[0], 2, beyond_ ? 8 * below(16) : 4096);
  }
  sgpr(i_.src[1], 0, blocks ? below(4) : 8 * below(8));
}

// M0 moves registers, so it is small.
void Values::relative() {
  const bool two = named("_2") || named("swaprel");
  if (named("movrel") || two) state_.sgpr[sreg::m0] = below(4) | (two ? below(4) << 16 : 0);
}

}  // namespace

bool needs_all_lanes(const Opcode& opcode) {
  return opcode.name.starts_with("global_load_tr") ||
         (opcode.name.starts_with("ds_read") && opcode.name.find("_tr_") != std::string_view::npos);
}

bool is_refused(const Opcode& opcode, Target target) {
  const std::string_view name = opcode.name;
  if (!handlers().find(name, target.arch, target.lanes)) return true;  // according to docs/simulator-opcodes.md
  if (name == "s_trap" || name == "s_sendmsghalt") return true;
  if (name.starts_with("global_load_tr") && target.lanes == 64) return true;             // the layout is not documented
  return name.starts_with("ds_bvh_stack") || name.starts_with("global_atomic_ordered");  // graphics
}

bool is_refused(const Instruction& i) {
  const std::string_view name = i.opcode->name;
  const bool dot = name.starts_with("v_dot2c_f32_") || name.starts_with("v_dot2acc_f32_");
  if (name == "v_pk_fmac_f16" && i.lane_map == LaneMap::sdwa) return true;
  return (dot || name == "v_pk_fmac_f16") && ((i.neg | i.abs) != 0 || (dot && i.omod != 0));
}

AnyScene::AnyScene(Target target)
    : target_(target),
      wave_(target, lds_bytes, BlockAt::same),
      memory_(memory_bytes, BlockAt::same),
      mode_(wave_.wave().mode) {}

MachineState AnyScene::random_state(std::mt19937& random) const {
  MachineState s;
  const auto word = [&] { return static_cast<u32>(random()); };
  const auto byte = [&] { return static_cast<unsigned char>(random()); };
  s.vgpr.resize(std::size_t{is_cdna(target_.arch) ? 512U : 256U} * target_.lanes);
  s.memory.resize(memory_bytes), s.lds.resize(lds_bytes), s.scratch.resize(wave_.scratch.size());
  std::generate(s.vgpr.begin(), s.vgpr.end(), word), std::generate(s.sgpr.begin(), s.sgpr.end(), word);
  for (auto* bytes : {&s.memory, &s.lds, &s.scratch}) std::generate(bytes->begin(), bytes->end(), byte);
  s.mode = mode_;
  s.pc = 0x1000;
  s.scc = random() % 2 != 0;
  s.sgpr[sreg::exec] = s.sgpr[sreg::exec + 1] = 0xffffffff;
  return s;
}

void AnyScene::make_valid(MachineState& state, const Instruction& i, std::mt19937& random, bool beyond) const {
  Values values(state, i, target_, random, beyond);
  switch (i.opcode->format) {
    case Format::flat: values.flat(memory_.address()); break;
    case Format::global: values.global(memory_.address()); break;
    case Format::scratch: values.scratch(); break;
    case Format::ds: values.lds(); break;
    case Format::mubuf:
    case Format::mtbuf: values.buffer(memory_.address(), wave_.scratch.address()); break;
    case Format::smem: values.scalar_memory(memory_.address()); break;
    default: values.relative(); break;
  }
}

void AnyScene::set(const MachineState& s) {
  Wave& w = wave_.wave();
  std::copy(s.vgpr.begin(), s.vgpr.end(), w.vgpr), std::copy(s.sgpr.begin(), s.sgpr.end(), w.sgpr);
  std::copy(s.memory.begin(), s.memory.end(), memory_.data());
  std::copy(s.scratch.begin(), s.scratch.end(), wave_.scratch.data());
  wave_.group.lds = s.lds;
  w.mode = s.mode, w.status = s.status, w.trapsts = s.trapsts, w.pc = s.pc, w.scc = s.scc, w.state = s.wave;
  wave_.group.live_waves = 1;
  wave_.group.barrier = {.members = 1, .signalled = s.barrier_signalled};
}

void AnyScene::get(MachineState& s) {
  Wave& w = wave_.wave();
  std::copy_n(w.vgpr, s.vgpr.size(), s.vgpr.begin()), std::copy_n(w.sgpr, s.sgpr.size(), s.sgpr.begin());
  std::copy_n(memory_.data(), s.memory.size(), s.memory.begin());
  std::copy_n(wave_.scratch.data(), s.scratch.size(), s.scratch.begin());
  s.lds = wave_.group.lds;
  s.mode = w.mode, s.status = w.status, s.trapsts = w.trapsts, s.pc = w.pc, s.scc = w.scc, s.wave = w.state;
  s.barrier_signalled = wave_.group.barrier.signalled;
}

std::array<std::span<unsigned char>, 3> AnyScene::memories() {
  return {std::span(memory_.data(), memory_.size()), wave_.group.lds,
          std::span(wave_.scratch.data(), wave_.scratch.size())};
}

void AnyScene::run(const Instruction& i) {
  Wave& w = wave_.wave();
  handlers().find(i.opcode->name, w.arch, w.lanes)(w, i);
  arrive_in_lds(w, 0);
}

}  // namespace rapt::sim::test
