#include "sim/machine/core/program.hpp"

#include <algorithm>
#include <cstdio>

namespace rapt::sim {
namespace {

std::string hexadecimal(std::uint64_t value, int digits) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

void count_registers(const Instruction& i, Entry& entry) {
  const auto count = [&entry](const Operand& o) {
    const auto end = static_cast<std::uint16_t>(o.index + o.dwords);
    if (o.kind == OperandKind::vgpr) entry.vgprs = std::max(entry.vgprs, end);
    if (o.kind == OperandKind::agpr) entry.agprs = std::max(entry.agprs, end);
  };
  count(i.dst), count(i.dst2);
  for (const Operand& o : i.src) count(o);
  if (i.dual) count_registers(*i.dual, entry);
}

}  // namespace

Entry make_entry(DecodeMode mode, Instruction instruction) {
  Entry entry;
  count_registers(instruction, entry);
  entry.effects = effects(instruction, mode.lanes);
  entry.values = value_facts(instruction, entry.effects, mode.arch);
  for (const RegisterAccess& access : entry.effects.writes()) entry.written_registers |= register_groups(access);
  entry.registers = entry.written_registers;
  for (const RegisterAccess& access : entry.effects.reads()) entry.registers |= register_groups(access);
  entry.clocks = clocks(instruction, entry.effects, mode.arch, mode.lanes);
  entry.waits = wait_facts(instruction, entry.effects, mode.arch);
  entry.hazards = hazard_facts(instruction, entry.effects, mode.arch);
  entry.memory_operations = entry.waits.queue[static_cast<unsigned>(Counter::load)] != WaitFacts::uncounted;
  entry.races = race_facts(instruction, entry.effects, mode.arch);
  entry.checks = check_interest(instruction, entry.effects, entry.waits, entry.hazards, mode);
  entry.instruction = std::move(instruction);
  return entry;
}

Program::Program(std::span<const std::byte> text, DecodeMode mode)
    : mode_(mode),
      base_(reinterpret_cast<std::uint64_t>(text.data())),
      slots_(text.size() / 4),
      entries_(new std::atomic<const Entry*>[text.size() / 4]) {
  for (std::size_t slot = 0; slot < slots_; ++slot) entries_[slot].store(nullptr, std::memory_order_relaxed);
}

const Entry& Program::decode_at(std::uint64_t pc) const {
  const std::uint64_t slot = (pc - base_) / 4;
  if (slot >= slots_ || pc % 4 != 0)
    throw Fault(FaultKind::illegal_address, "the program counter left the code: " + hexadecimal(pc, 12), {}, pc);
  const std::lock_guard lock(mutex_);
  if (const Entry* entry = entries_[slot].load(std::memory_order_relaxed)) return *entry;

  const auto* words = reinterpret_cast<const std::uint32_t*>(pc);
  auto instruction = decode(mode_, {words, std::min<std::size_t>(5, slots_ - slot)});
  if (!instruction)
    throw Fault(FaultKind::illegal_instruction,
                hexadecimal(words[0], 8) + " is no instruction of " + std::string(name(mode_.arch)), {}, pc);
  const Handler handler = handlers().find(instruction->opcode->name, mode_.arch, mode_.lanes);
  if (!handler)
    throw Fault(FaultKind::illegal_instruction,
                std::string(instruction->opcode->name) + " (" + hexadecimal(words[0], 8) + ") is not simulated on " +
                    std::string(name(mode_.arch)),
                {}, pc);
  Entry entry = make_entry(mode_, std::move(*instruction));
  entry.handler = handler;
  entry.slot = static_cast<std::uint32_t>(slot);
  storage_.push_back(std::move(entry));
  entries_[slot].store(&storage_.back(), std::memory_order_release);
  return storage_.back();
}

}  // namespace rapt::sim
