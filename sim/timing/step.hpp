// What an instruction asks of the pipeline: a pure function of the decoded instruction and the chip.
#pragma once

#include "sim/isa/facts/waits.hpp"
#include "sim/machine/core/program.hpp"
#include "sim/timing/chip.hpp"
#include "sim/timing/trace.hpp"

namespace rapt::sim::timing {

// The units that an arbiter issues to: at most one instruction of each kind from a SIMD at a time. ROCprofiler's page
// "Analyzing PC sampling data on CDNA3 and CDNA4" names the pipelines. `internal` instructions (waits, no-operations,
// priorities) leave the instruction buffer without being issued to any.
enum class Port : std::uint8_t { vector, matrix, scalar, lds, memory, branch, internal };
inline constexpr unsigned port_count = 7;

struct Step {
  Port port = Port::internal;
  bool scalar_load = false;
  bool coherent = false;                // a scalar load or atomic that passes the scalar cache
  bool arrives = false, joins = false;  // at a barrier; s_barrier does both
  bool request = false;                 // has a Request in the trace
  bool store = false;                   // its data goes to memory
  bool atomic = false;                  // what is there is changed
  bool to_lds = false;                  // its data comes to the LDS instead of registers
  bool packed = false;                  // CDNA's v_pk_*_f32: does not issue while the SIMD's matrix unit is busy
  bool waits = false;
  bool ends = false;                        // the wave
  bool releases = false;                    // RDNA: gives the wave's registers away before its stores have ended
  std::uint16_t vector_clocks = 0;          // that the vector port is taken
  std::uint16_t matrix_clocks = 0;          // that the matrix unit is taken
  std::uint16_t transcendental_clocks = 0;  // RDNA: that the unit beside the vector unit is taken
  std::uint16_t exchange_clocks = 0;        // that the LDS is taken by lanes that exchange values without its memory
  std::uint16_t address_clocks = 0;         // that the address unit is taken at least: for 16 lanes in each
  std::uint16_t result_clocks = 0;          // RDNA: until instructions that need the result may issue
  std::uint16_t wave_clocks = 4;            // until the wave's next instruction may issue
  std::uint8_t priority = 255;              // s_setprio's
  std::uint32_t bytes = 4;                  // size of the instruction
  const WaitFacts* wait = nullptr;
  // Registers in one numbering: VGPRs, AGPRs, then on RDNA scalar ones and SCC.
  struct Registers {
    static constexpr std::uint16_t agprs = 256, scalars = 512, scc = scalars + sreg::count, all = scc + 1;
    std::uint16_t first = 0, count = 0;
    bool overlaps(Registers o) const { return first < o.first + o.count && o.first < first + count; }
    bool operator==(const Registers&) const = default;
  };
  Registers result, accumulator;    // of a product: D, and C; no such product: count 0
  std::array<Registers, 14> reads;  // C of a product excepted
  std::array<Registers, 6> writes;  // D of a product excepted
  std::uint8_t read_count = 0, write_count = 0;
};

Step make_step(const Entry& entry, const Chip& chip, unsigned lanes);

// The steps of a program, made when first needed.
class Steps {
 public:
  Steps(const Program& program, const Chip& chip);
  const Step& at(std::uint32_t slot) {
    if (!made_[slot]) make(slot);
    return steps_[slot];
  }

 private:
  void make(std::uint32_t slot);

  const Program& program_;
  const Chip& chip_;
  std::vector<Step> steps_;
  std::vector<bool> made_;
};

}  // namespace rapt::sim::timing
