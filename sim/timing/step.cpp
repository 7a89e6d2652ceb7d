#include "sim/timing/step.hpp"

namespace rapt::sim::timing {
namespace {

constexpr std::uint16_t agprs = 256;  // AGPR n is register 256 + n

Step::Registers registers_of(const RegisterAccess& access) {
  const auto base = access.file == RegisterFile::agpr ? agprs : std::uint16_t{0};
  return {static_cast<std::uint16_t>(base + access.first), access.count};
}

bool is_vector_file(const RegisterAccess& access) {
  return access.file == RegisterFile::vgpr || access.file == RegisterFile::agpr;
}

Port port_of(const Effects& e) {
  switch (e.unit) {
    case Unit::valu:
    case Unit::trans: return Port::vector;
    case Unit::matrix: return Port::matrix;
    case Unit::salu:
    case Unit::smem: return Port::scalar;
    case Unit::lds: return Port::lds;
    case Unit::global:
    case Unit::flat:
    case Unit::scratch:
    case Unit::buffer: return Port::memory;
    case Unit::branch:
    case Unit::message: return Port::branch;
    default: return Port::internal;
  }
}

void add_registers(Step& step, const Entry& entry) {
  const bool product = step.port == Port::matrix;
  for (const RegisterAccess& read : entry.effects.reads()) {
    if (!is_vector_file(read)) continue;
    if (product && read.source == 2) step.accumulator = registers_of(read);
    else if (step.touched_count < step.touched.size()) step.touched[step.touched_count++] = registers_of(read);
  }
  for (const RegisterAccess& write : entry.effects.writes()) {
    if (!is_vector_file(write)) continue;
    if (product) step.result = registers_of(write);
    else if (step.touched_count < step.touched.size()) step.touched[step.touched_count++] = registers_of(write);
  }
}

}  // namespace

Step make_step(const Entry& entry, const Chip& chip) {
  const Instruction& i = entry.instruction;
  const std::string_view name = i.opcode->name;
  const Effects& e = entry.effects;
  Step step;
  step.port = port_of(e);
  step.bytes = i.size;
  step.vector_clocks = entry.clocks.taken[static_cast<unsigned>(Pipe::vector)];
  step.matrix_clocks = entry.clocks.taken[static_cast<unsigned>(Pipe::matrix)];
  step.wave_clocks = entry.clocks.issue;
  if (e.unit == Unit::salu) step.wave_clocks = static_cast<std::uint16_t>(chip.scalar_clocks);
  step.scalar_load = e.unit == Unit::smem;
  step.barrier = name == "s_barrier";
  step.request = has_request(e);
  step.store = e.stores;
  step.to_lds = entry.waits.to_lds;
  step.packed = name.starts_with("v_pk_") && name.ends_with("_f32");
  step.waits = entry.waits.waits;
  step.wait = &entry.waits;
  if (name == "s_setprio") step.priority = static_cast<std::uint8_t>(i.immediate & 3);
  add_registers(step, entry);
  return step;
}

Steps::Steps(const Program& program, const Chip& chip)
    : program_(program), chip_(chip), steps_(program.slots()), made_(program.slots()) {}

void Steps::make(std::uint32_t slot) {
  steps_[slot] = make_step(program_.at(program_.base() + 4 * std::uint64_t{slot}), chip_);
  made_[slot] = true;
}

}  // namespace rapt::sim::timing
