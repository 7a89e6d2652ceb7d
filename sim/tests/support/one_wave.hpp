// One wave with registers to set and read, which runs lines of assembly through the real decoder and handlers.
#pragma once

#include "sim/machine/core/workgroup.hpp"
#include "sim/tests/support/programs/assemble.hpp"
#include "sim/tests/support/instructions/tested.hpp"

#include <bit>
#include <map>

namespace rapt::sim::test {

class OneWave {
 public:
  explicit OneWave(Arch arch, unsigned lanes = 0, std::uint32_t lds_bytes = 65536)
      : registers_(std::size_t{512} * (lanes ? lanes : default_lanes(arch))) {
    group.waves.resize(1);
    group.live_waves = 1;
    group.barrier.members = 1;
    group.lds.resize(lds_bytes);
    group.lds_bytes = lds_bytes;
    wave().arch = arch;
    wave().lanes = lanes ? lanes : default_lanes(arch);
    wave().vgpr = registers_.data();
    wave().vgpr_count = wave().agpr_count = 256;
    wave().group = &group;
    wave().mode = mode::denorm_f32 | mode::denorm_f16_f64 | mode::dx10_clamp | mode::ieee;
    wave().set_pair(sreg::exec, wave().all_lanes());
  }

  Wave& wave() { return group.waves[0]; }
  std::uint32_t& v(unsigned reg, unsigned lane = 0) { return wave().row(reg)[lane]; }
  std::uint32_t& a(unsigned reg, unsigned lane = 0) { return v(Wave::agpr_row + reg, lane); }
  std::uint32_t& s(unsigned reg) { return wave().sgpr[reg]; }
  float f(unsigned reg, unsigned lane = 0) { return std::bit_cast<float>(v(reg, lane)); }
  std::uint64_t v64(unsigned reg, unsigned lane = 0) { return v(reg, lane) | std::uint64_t{v(reg + 1, lane)} << 32; }
  void set_f(unsigned reg, unsigned lane, float value) { v(reg, lane) = std::bit_cast<std::uint32_t>(value); }
  void set_v64(unsigned reg, unsigned lane, std::uint64_t value) {
    v(reg, lane) = static_cast<std::uint32_t>(value);
    v(reg + 1, lane) = static_cast<std::uint32_t>(value >> 32);
  }
  // Every lane of a register.
  void fill(unsigned reg, std::uint32_t value) { std::fill_n(wave().row(reg), wave().lanes, value); }

  // Runs the lines one after the other; branches change the program counter but are not followed.
  void run(const std::string& text) {
    const auto [cached, fresh] = instructions_.try_emplace(text);
    if (fresh) cached->second = decode_all(wave().arch, wave().lanes, assemble(wave().arch, wave().lanes, text));
    for (const Instruction& i : cached->second) run(i);
  }
  void run(const Instruction& i) {
    const Handler handler = tested_handler(i.opcode->name, wave().arch, wave().lanes);
    if (!handler) throw std::runtime_error("no handler for " + std::string(i.opcode->name));
    if (i.dual) record_tested(i.dual->opcode->name, wave().arch);
    handler(wave(), i);
  }

  Workgroup group;

 private:
  std::vector<std::uint32_t> registers_;
  std::map<std::string, std::vector<Instruction>> instructions_;
};

}  // namespace rapt::sim::test
