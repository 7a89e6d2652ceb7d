#include "sim/isa/facts/interest.hpp"

namespace rapt::sim {
namespace {

bool reaches_memory(Unit unit) {
  switch (unit) {
    case Unit::smem:
    case Unit::lds:
    case Unit::global:
    case Unit::flat:
    case Unit::scratch:
    case Unit::buffer: return true;
    default: return false;
  }
}

// gfx9 counts the wait states of every instruction.
bool concerns_hazards(const HazardFacts& f, DecodeMode mode) {
  if (is_cdna(mode.arch)) return true;
  const kind::Kinds always = kind::valu | kind::memory | kind::lds | kind::waits_vdst;
  const kind::Kinds wave64 = kind::salu | kind::waits_sdst;
  return (f.kinds & (mode.lanes == 64 ? always | wave64 : always)) != 0;
}

}  // namespace

CheckInterest check_interest(const Instruction& instruction, const Effects& effects, const WaitFacts& waits,
                             const HazardFacts& hazards, DecodeMode mode) {
  CheckInterest interest;
  const auto before = [&interest](CheckKind kind, bool concerned) {
    if (concerned) interest.before |= set_of(kind);
  };
  const auto after = [&interest](CheckKind kind, bool concerned) {
    if (concerned) interest.after |= set_of(kind);
  };
  const bool memory = reaches_memory(effects.unit), barrier = effects.unit == Unit::barrier;
  const bool ends = effects.unit == Unit::branch && instruction.opcode->name.starts_with("s_endpgm");
  before(CheckKind::values, true);
  before(CheckKind::waits, waits.waits || waits.counted || !effects.reads().empty() || !effects.writes().empty());
  before(CheckKind::hazards, concerns_hazards(hazards, mode));
  before(CheckKind::operands, effects.unit == Unit::matrix && contains(gfx11, mode.arch));
  before(CheckKind::alignment, memory);
  before(CheckKind::races, memory);
  before(CheckKind::barriers, barrier || ends);
  after(CheckKind::values, true);
  after(CheckKind::races, memory || barrier || ends);
  return interest;
}

}  // namespace rapt::sim
