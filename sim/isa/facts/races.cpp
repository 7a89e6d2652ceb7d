#include "sim/isa/facts/races.hpp"

namespace rapt::sim {
namespace {

// Compilers give atomic loads and stores bits that bypass caches (LLVM's AMDGPUUsage, "Memory Model"): glc without slc
// (slc marks streaming accesses); sc0 or sc1 on gfx940 and later; a scope on gfx12.
bool coherent(const Instruction& i, Arch arch) {
  if (contains(gfx12, arch)) return i.scope != 0;
  if (arch == Arch::gfx942 || arch == Arch::gfx950) return i.glc || i.scc;
  return (i.glc || i.dlc) && !i.slc;
}

}  // namespace

RaceFacts race_facts(const Instruction& i, const Effects& effects, Arch arch) {
  const std::string_view name = i.opcode->name;
  const auto says = [name](std::string_view part) { return name.find(part) != name.npos; };
  RaceFacts facts;
  facts.coherent = effects.unit != Unit::smem && coherent(i, arch);
  facts.stores_registers = !i.lds && !says("_lds") && !says("format") && !says("block");
  facts.upper_half = says("d16_hi");
  return facts;
}

}  // namespace rapt::sim
