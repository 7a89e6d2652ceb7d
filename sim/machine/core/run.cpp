#include "sim/machine/core/run.hpp"

#include "sim/loader/code_object.hpp"
#include "sim/machine/core/program.hpp"

#include <algorithm>
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

void spend(Wave& wave, const Clocks& clocks) {
  const auto pipe = static_cast<unsigned>(clocks.pipe);
  const std::uint64_t start = std::max(wave.cycles, wave.pipe_free[pipe]);
  wave.cycles = start + clocks.issue;
  wave.pipe_free[pipe] = start + clocks.taken[pipe];
  for (unsigned p = 0; p < pipe_count; ++p) wave.clocks[p] += clocks.taken[p];
}

// gfx9's MODE.vskip: vector instructions are issued to no pipe and counted by no counter (CDNA ISA documents, "Mode
// register"); the clock model assumes that skipping one takes as long as issuing it.
bool skip(Wave& wave, const Entry& entry) {
  const Format format = entry.instruction.opcode->format;
  if (!is_cdna(wave.arch) || format < Format::vop1 || format == Format::unsupported) return false;
  wave.cycles += entry.clocks.issue;
  ++wave.skipped;
  for (Observer* observer : wave.group->observers) observer->skipped(wave, entry);
  return true;
}

void before(Wave& wave, const Entry& entry) {
  for (Observer* observer : wave.group->observers) observer->before(wave, entry);
}

void after(Wave& wave, const Entry& entry) {
  const auto& observers = wave.group->observers;
  for (auto observer = observers.rbegin(); observer != observers.rend(); ++observer) (*observer)->after(wave, entry);
}

template <bool Watched>
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
      ++executed;
      if ((wave.mode & mode::vskip) != 0 && skip(wave, *entry)) [[unlikely]]
        continue;
      spend(wave, entry->clocks);
      wave.memory_operations += entry->memory_operations;
      if constexpr (Watched) before(wave, *entry);
      entry->handler(wave, entry->instruction);
      if constexpr (Watched) after(wave, *entry);
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
  return wave.group->observers.empty() ? run<false>(wave, budget) : run<true>(wave, budget);
}

}  // namespace rapt::sim
