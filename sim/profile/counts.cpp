#include "sim/profile/counts.hpp"

namespace rapt::sim {
namespace {

template <std::size_t N>
void add(std::array<std::uint64_t, N>& to, const std::array<std::uint64_t, N>& from) {
  for (std::size_t n = 0; n < N; ++n) to[n] += from[n];
}

InstructionClass memory_class(InstructionClass load, const Effects& e) {
  if (!e.loads && !e.stores && !e.atomic) return InstructionClass::other;  // caches written back or invalidated
  const unsigned action = e.atomic ? 2 : e.stores ? 1 : 0;
  return static_cast<InstructionClass>(static_cast<unsigned>(load) + action);
}

}  // namespace

std::string_view name(InstructionClass c) {
  static constexpr std::array<std::string_view, class_count> names{
      "scalar",       "scalar memory", "vector",         "transcendental", "matrix",       "LDS",
      "global load",  "global store",  "global atomic",  "flat load",      "flat store",   "flat atomic",
      "scratch load", "scratch store", "scratch atomic", "buffer load",    "buffer store", "buffer atomic",
      "branch",       "wait",          "barrier",        "message",        "other"};
  return names[static_cast<unsigned>(c)];
}

InstructionClass classify(const Effects& e) {
  switch (e.unit) {
    case Unit::salu: return InstructionClass::scalar;
    case Unit::smem: return InstructionClass::scalar_memory;
    case Unit::branch: return InstructionClass::branch;
    case Unit::wait: return InstructionClass::wait;
    case Unit::barrier: return InstructionClass::barrier;
    case Unit::message: return InstructionClass::message;
    case Unit::valu: return InstructionClass::vector;
    case Unit::trans: return InstructionClass::transcendental;
    case Unit::matrix: return InstructionClass::matrix;
    case Unit::lds: return InstructionClass::lds;
    case Unit::global: return memory_class(InstructionClass::global_load, e);
    case Unit::flat: return memory_class(InstructionClass::flat_load, e);
    case Unit::scratch: return memory_class(InstructionClass::scratch_load, e);
    case Unit::buffer: return memory_class(InstructionClass::buffer_load, e);
    case Unit::other: return InstructionClass::other;
  }
  return InstructionClass::other;
}

MemoryCounts& MemoryCounts::operator+=(const MemoryCounts& other) {
  bytes += other.bytes;
  sectors32 += other.sectors32;
  sectors64 += other.sectors64;
  scalar_bytes += other.scalar_bytes;
  lds_bytes += other.lds_bytes;
  lds_clocks += other.lds_clocks;
  lds_conflicts += other.lds_conflicts;
  return *this;
}

SlotCounts& SlotCounts::operator+=(const SlotCounts& other) {
  executed += other.executed;
  skipped += other.skipped;
  taken += other.taken;
  memory += other.memory;
  return *this;
}

Totals& Totals::operator+=(const Totals& other) {
  instructions += other.instructions;
  issue += other.issue;
  add(clocks, other.clocks);
  add(classes, other.classes);
  memory += other.memory;
  return *this;
}

}  // namespace rapt::sim
