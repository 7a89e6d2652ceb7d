// The decoded text of a code object: each static instruction is decoded once, when a wave first reaches it.
#pragma once

#include "sim/isa/facts/interest.hpp"
#include "sim/isa/facts/races.hpp"
#include "sim/isa/facts/register_mask.hpp"
#include "sim/isa/facts/values.hpp"
#include "sim/isa/clocks.hpp"
#include "sim/isa/decode.hpp"
#include "sim/isa/effects.hpp"
#include "sim/machine/core/handlers.hpp"

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <span>

namespace rapt::sim {

// What the sanitizer needs of every instruction comes first, in one cache line of the host.
struct alignas(64) Entry {
  Handler handler = nullptr;
  CheckInterest checks;
  std::uint8_t memory_operations = 0;  // 1: vmcnt counts it
  std::uint16_t vgprs = 0, agprs = 0;  // registers it may touch: the highest index and one
  RaceFacts races;
  std::uint32_t slot = 0;                               // dwords from the start of the text
  RegisterGroups registers = 0, written_registers = 0;  // that it reads or writes
  HazardFacts hazards;
  WaitFacts waits;
  Instruction instruction;
  Clocks clocks;
  Effects effects;
  ValueFacts values;
};

// An entry with everything that follows from the instruction itself; no handler or slot.
Entry make_entry(DecodeMode mode, Instruction instruction);

class Program {
 public:
  Program(std::span<const std::byte> text, DecodeMode mode);

  // The instruction at an address; Fault if that is outside the text, not an instruction, or a refused one.
  const Entry& at(std::uint64_t pc) const {
    const std::uint64_t slot = (pc - base_) / 4;
    if (slot < slots_) [[likely]]
      if (const Entry* entry = entries_[slot].load(std::memory_order_acquire)) [[likely]]
        return *entry;
    return decode_at(pc);
  }

  DecodeMode mode() const { return mode_; }
  std::uint64_t base() const { return base_; }
  std::size_t slots() const { return slots_; }

 private:
  const Entry& decode_at(std::uint64_t pc) const;

  DecodeMode mode_;
  std::uint64_t base_;
  std::size_t slots_;
  mutable std::unique_ptr<std::atomic<const Entry*>[]> entries_;
  mutable std::mutex mutex_;
  mutable std::deque<Entry> storage_;
};

}  // namespace rapt::sim
