// The state of one wave.
#pragma once

#include "sim/isa/clocks.hpp"

#include <cstring>
#include <vector>

namespace rapt::sim {

class Workgroup;

// Fields of the MODE register, the same on all architectures unless noted (ISA documents, "Mode register").
namespace mode {
inline constexpr std::uint32_t round_f32 = 0x3;  // 0 nearest even, 1 up, 2 down, 3 to zero
inline constexpr std::uint32_t round_f16_f64 = 0xc;
inline constexpr std::uint32_t denorm_f32 = 0x30;  // bit 0 of a pair: keep inputs, bit 1: keep outputs
inline constexpr std::uint32_t denorm_f16_f64 = 0xc0;
inline constexpr std::uint32_t dx10_clamp = 0x100;     // a clamped NaN becomes 0 (always so on gfx12)
inline constexpr std::uint32_t ieee = 0x200;           // signalling NaNs are quieted by min, max, ... (gone on gfx12)
inline constexpr std::uint32_t fp16_ovfl = 1U << 23;   // a finite value never becomes an f16 infinity
inline constexpr std::uint32_t gpr_idx_en = 1U << 27;  // gfx9: M0 moves VGPR operands
inline constexpr std::uint32_t vskip = 1U << 28;       // gfx9: vector instructions are skipped
}  // namespace mode

enum class WaveState : std::uint8_t { running, at_barrier, sleeping, ended };

// An outstanding load to LDS (lds/arrivals.hpp).
struct LdsArrival {
  struct Word {
    unsigned char* to;
    std::uint32_t value;
  };
  std::uint64_t operation;  // Wave::memory_operations with this one
  std::vector<Word> words;
};

struct Wave {
  // Row r holds lane l at vgpr[r * lanes + l]. AGPR i is row first_agpr + i: from gfx90a on the two files are one, and
  // a VGPR from the accumulation offset on is an AGPR.
  std::uint32_t* vgpr = nullptr;
  static constexpr unsigned agpr_row = 256;
  unsigned first_agpr = agpr_row;
  unsigned lanes = 64;
  Arch arch = Arch::gfx942;
  WaveState state = WaveState::running;
  bool scc = false;
  std::uint64_t pc = 0;                              // already after the instruction that runs
  alignas(64) std::uint32_t sgpr[sreg::count] = {};  // vcc, ttmp, m0, exec among them (sreg)

  std::uint32_t mode = 0, status = 0, trapsts = 0;
  Workgroup* group = nullptr;
  unsigned index = 0;  // in its workgroup
  std::uint32_t vgpr_count = 0, agpr_count = 0;
  std::uint64_t scratch_base = 0;  // this wave's private memory: lane l's dword d at scratch_base + (d * lanes + l) * 4
  std::uint32_t scratch_bytes_per_lane = 0;
  std::uint64_t instructions = 0;  // so far,
  std::uint64_t skipped = 0;       // how many of these MODE.vskip skipped
  std::uint64_t cycles = 0;        // by the clock model, as the only wave of its SIMD: what the clock registers give
  std::array<std::uint64_t, pipe_count> clocks{};     // taken of each pipe
  std::array<std::uint64_t, pipe_count> pipe_free{};  // when it can take the wave's next instruction
  std::uint64_t memory_operations = 0;                // CDNA: begun so far, as vmcnt counts them
  std::vector<LdsArrival> lds_arrivals;
  std::uint64_t barrier_phase = 0;  // the phase of the barrier in which this wave signalled last

  // What the machine sets before the first instruction: SGPRs and VGPRs from 0 on, and flat_scratch.
  std::uint16_t initial_sgprs = 0, initial_vgprs = 0;
  bool initial_flat_scratch = false;
  struct UndefinedBits {
    unsigned sgpr;
    std::uint32_t bits;
  };
  std::vector<UndefinedBits> undefined_sgprs;  // of them: preloaded arguments that the launch did not pass

  std::uint32_t* row(unsigned index) { return vgpr + std::size_t{index} * lanes; }
  std::uint32_t* row(const Operand& o) { return row(o.index + (o.kind == OperandKind::agpr ? first_agpr : 0)); }
  std::uint64_t pair(unsigned index) const { return sgpr[index] | std::uint64_t{sgpr[index + 1]} << 32; }
  void set_pair(unsigned index, std::uint64_t value) {
    sgpr[index] = static_cast<std::uint32_t>(value);
    sgpr[index + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  // Active lanes; bits beyond the wave's size are 0.
  std::uint64_t exec() const { return lanes == 32 ? sgpr[sreg::exec] : pair(sreg::exec); }
  std::uint64_t all_lanes() const { return lanes == 32 ? 0xffffffffU : ~std::uint64_t{0}; }
};

}  // namespace rapt::sim
