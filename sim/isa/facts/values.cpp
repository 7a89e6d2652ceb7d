#include "sim/isa/facts/values.hpp"

#include "sim/isa/facts/halves.hpp"

namespace rapt::sim {
namespace {

bool is_by_lane(const Instruction& i, const Effects& e) {
  if (!e.per_lane || i.dual) return false;
  if (e.loads || e.stores || e.atomic) return true;
  if (e.unit != Unit::valu && e.unit != Unit::trans) return false;
  if (e.partial_dst || is_half(i.opcode->dst)) return false;  // the rest of the register keeps its shadow
  const std::string_view name = i.opcode->name;
  return (i.lane_map == LaneMap::none || i.lane_map == LaneMap::sdwa) && !name.starts_with("v_permlane") &&
         !name.starts_with("v_movrel");
}

}  // namespace

ValueFacts value_facts(const Instruction& i, const Effects& e, Arch arch) {
  ValueFacts facts;
  for (const RegisterAccess& access : e.reads()) facts.reads.add(access);
  for (const RegisterAccess& access : e.writes()) facts.writes.add(access);
  facts.memory = e.loads || e.stores || e.atomic;
  facts.by_lane = is_by_lane(i, e);
  if (facts.memory) {
    const unsigned moved = moved_halves(i, e.stores ? i.src[1] : i.dst);
    facts.d16 = moved != halves::both && i.opcode->name.find("d16") != std::string_view::npos;
    facts.upper = moved == halves::upper;
  } else if (!i.dual) {
    facts.kept = written_bits(i, arch).kept();
  }
  return facts;
}

}  // namespace rapt::sim
