#include "sim/machine/run.hpp"

#include "sim/check/checks.hpp"
#include "sim/loader/code_object.hpp"
#include "sim/machine/program.hpp"

#include <cstdio>

namespace rapt::sim {
namespace {

std::string location(const Wave& wave, const Program& program, std::uint64_t pc, const Entry* entry) {
  const Workgroup& group = *wave.group;
  char text[160];
  std::snprintf(text, sizeof text, ", at %s+0x%llx, workgroup (%u, %u, %u), wave %u", group.kernel->name.c_str(),
                static_cast<unsigned long long>(pc - group.kernel->entry), group.id[0], group.id[1], group.id[2],
                wave.index);
  return (entry ? ": " + print(program.mode(), entry->instruction) : std::string()) + text;
}

void check_registers(const Wave& wave, const Entry& entry) {
  if (entry.vgprs > wave.vgpr_count || entry.agprs > wave.agpr_count)
    throw Fault(FaultKind::illegal_instruction, "register beyond the " + std::to_string(wave.vgpr_count) +
                                                    " VGPRs or " + std::to_string(wave.agpr_count) +
                                                    " AGPRs that the kernel allocates");
}

template <bool Checked>
std::uint64_t run(Wave& wave, std::uint64_t budget) {
  const Program& program = *wave.group->program;
  std::uint64_t pc = wave.pc, executed = 0;
  const Entry* entry = nullptr;
  try {
    while (executed < budget) {
      pc = wave.pc;
      entry = nullptr;
      entry = &program.at(pc);
      if (entry->vgprs > wave.vgpr_count || entry->agprs > wave.agpr_count) check_registers(wave, *entry);
      wave.pc = pc + entry->instruction.size;
      wave.cycles += 4;
      wave.memory_operations += entry->memory_operations;
      ++executed;
      if constexpr (Checked) wave.group->checks->before(wave, *entry);
      entry->handler(wave, entry->instruction);
      if constexpr (Checked) wave.group->checks->after(wave, *entry);
      if (wave.state != WaveState::running) break;
    }
  } catch (const Fault& fault) {
    std::string lane;
    if (fault.lane) lane = ", lane " + std::to_string(*fault.lane);
    throw Fault(fault.kind, fault.what() + location(wave, program, pc, entry) + lane, fault.lane, fault.address);
  }
  wave.instructions += executed;
  return executed;
}

}  // namespace

std::uint64_t run_wave(Wave& wave, std::uint64_t budget) {
  return wave.group->checks ? run<true>(wave, budget) : run<false>(wave, budget);
}

}  // namespace rapt::sim
