#include "archive/gate.hpp"

#include <climits>

#include "kernels/abi.h"

namespace rapt::archive {

std::vector<std::string> violations(const Row& row, const Arch& arch, const KernelMetadata& kernel) {
  std::vector<std::string> found;
  const auto number = [](int value) { return std::to_string(value); };
  const auto none = [&](const char* what, int value) {
    if (value != 0) found.push_back(what + (" is " + number(value)) + ", allowed is 0");
  };
  const auto at_most = [&](const char* what, int value, int budget) {
    if (budget >= 0 && value > budget)
      found.push_back(what + (" is " + number(value)) + ", the row allows at most " + number(budget));
  };
  const auto equal = [&](const char* what, int value, int expected) {
    if (value != expected) found.push_back(what + (" is " + number(value)) + ", must be " + number(expected));
  };
  if (kernel.target != arch.name)
    found.push_back("the code object is for " + kernel.target + ", not for " + std::string(arch.name));
  if (kernel.name != row.symbol())
    found.push_back("the code object's kernel is named " + kernel.name + ", must be " + row.symbol());
  none("spilled VGPRs", kernel.vgpr_spills);
  none("spilled SGPRs", kernel.sgpr_spills);
  none("scratch bytes a lane", kernel.scratch);
  if (kernel.dynamic_stack) found.emplace_back("it needs a stack whose size is not known");
  if (!kernel.hidden.empty())
    found.push_back("hidden arguments are " + number(static_cast<int>(kernel.hidden.size())) + " (" + kernel.hidden[0] +
                    ", ...), allowed is 0");
  equal("lanes a wave", kernel.wave, arch.wave);
  equal("threads a workgroup", kernel.max_threads, row.waves * arch.wave);
  if (row.operation.starts_with("forward"))
    equal("bytes of arguments", kernel.kernarg_size, static_cast<int>(sizeof(rapt_forward_args)));
  at_most("vgprs", kernel.vgprs, row.budget.vgprs);
  at_most("agprs", kernel.agprs, row.budget.agprs);
  at_most("sgprs", kernel.sgprs, row.budget.sgprs);
  at_most("lds", kernel.lds, row.budget.lds);
  at_most("lds of a workgroup", kernel.lds, arch.lds_group);
  const Occupancy o = occupancy(arch, kernel.vgprs, kernel.sgprs, kernel.lds, row.waves);
  if (o.waves < row.budget.occupancy)
    found.push_back("occupancy is " + number(o.waves) + " waves a SIMD, the row demands at least " +
                    number(row.budget.occupancy) + " (registers allow " + number(o.by_registers) +
                    " waves a SIMD, LDS " + (o.by_lds == INT_MAX ? "any number" : number(o.by_lds)) +
                    " workgroups of " + number(row.waves) + " waves)");
  return found;
}

}  // namespace rapt::archive
