#include "sim/timing/step.hpp"

namespace rapt::sim::timing {
namespace {

using Registers = Step::Registers;

Registers registers_of(const RegisterAccess& access) {
  switch (access.file) {
    case RegisterFile::vgpr: return {access.first, access.count};
    case RegisterFile::agpr: return {static_cast<std::uint16_t>(Registers::agprs + access.first), access.count};
    case RegisterFile::sgpr: return {static_cast<std::uint16_t>(Registers::scalars + access.first), access.count};
    default: return {Registers::scc, 1};
  }
}

bool is_scalar_file(const RegisterAccess& access) {
  return access.file == RegisterFile::sgpr || access.file == RegisterFile::scc;
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

// CDNA waits for products only, so scalar registers do not matter there.
void add_registers(Step& step, const Entry& entry, bool scalars) {
  const bool product = step.port == Port::matrix;
  for (const RegisterAccess& read : entry.effects.reads()) {
    if (is_scalar_file(read) && !scalars) continue;
    if (product && read.source == 2 && !is_scalar_file(read)) step.accumulator = registers_of(read);
    else step.reads[step.read_count++] = registers_of(read);
  }
  for (const RegisterAccess& write : entry.effects.writes()) {
    if (is_scalar_file(write) && !scalars) continue;
    if (product) step.result = registers_of(write);
    else step.writes[step.write_count++] = registers_of(write);
  }
}

// An instruction that takes several clocks has its last result so much later.
unsigned result_clocks(const Effects& e, const Step& step, const Chip& chip) {
  switch (e.unit) {
    case Unit::valu: return chip.vector_result_clocks + step.vector_clocks - 1U;
    case Unit::trans: return chip.transcendental_result_clocks + step.vector_clocks - 1U;
    case Unit::salu: return chip.scalar_result_clocks;
    default: return 0;
  }
}

}  // namespace

Step make_step(const Entry& entry, const Chip& chip, unsigned lanes) {
  const Instruction& i = entry.instruction;
  const std::string_view name = i.opcode->name;
  const Effects& e = entry.effects;
  Step step;
  step.port = port_of(e);
  step.bytes = i.size;
  step.vector_clocks = entry.clocks.taken[static_cast<unsigned>(Pipe::vector)];
  step.matrix_clocks = entry.clocks.taken[static_cast<unsigned>(Pipe::matrix)];
  step.transcendental_clocks = entry.clocks.taken[static_cast<unsigned>(Pipe::transcendental)];
  step.wave_clocks = entry.clocks.issue;
  // On RDNA the wave goes on while the vector unit works; what needs the result waits for it.
  const bool rdna = is_rdna(chip.arch);
  if (rdna && (step.port == Port::vector || step.port == Port::matrix)) step.wave_clocks = 1;
  if (e.unit == Unit::salu) step.wave_clocks = static_cast<std::uint16_t>(chip.scalar_clocks);
  step.result_clocks = static_cast<std::uint16_t>(result_clocks(e, step, chip));
  if (e.unit == Unit::lds && !e.loads && !e.stores)  // ds_bpermute_b32 and the like
    step.exchange_clocks = static_cast<std::uint16_t>(lanes * 4 / chip.lds_bytes_per_clock);
  step.address_clocks = static_cast<std::uint16_t>(lanes / 16);
  step.scalar_load = e.unit == Unit::smem;
  step.coherent = step.scalar_load && (i.glc || i.scope != 0);
  step.arrives = name == "s_barrier" || name.starts_with("s_barrier_signal");
  step.joins = name == "s_barrier" || name == "s_barrier_wait";
  step.request = has_request(e);
  step.store = e.stores;
  step.atomic = e.atomic;
  step.to_lds = entry.waits.to_lds;
  step.packed = !rdna && name.starts_with("v_pk_") && name.ends_with("_f32");
  step.waits = entry.waits.waits;
  constexpr unsigned dealloc_vgprs = 3;
  step.ends = name == "s_endpgm";
  step.releases = rdna && name == "s_sendmsg" && (i.immediate & 0xff) == dealloc_vgprs;
  step.wait = &entry.waits;
  if (name == "s_setprio") step.priority = static_cast<std::uint8_t>(i.immediate & 3);
  add_registers(step, entry, rdna);
  return step;
}

Steps::Steps(const Program& program, const Chip& chip)
    : program_(program), chip_(chip), steps_(program.slots()), made_(program.slots()) {}

void Steps::make(std::uint32_t slot) {
  steps_[slot] = make_step(program_.at(program_.base() + 4 * std::uint64_t{slot}), chip_, program_.mode().lanes);
  made_[slot] = true;
}

}  // namespace rapt::sim::timing
