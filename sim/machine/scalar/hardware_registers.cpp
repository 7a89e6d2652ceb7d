// s_getreg and s_setreg (ISA documents, "Hardware registers"; numbers as LLVM's AMDGPUUsage lists them for each
// family).
#include "sim/machine/scalar/scalar.hpp"
#include "sim/machine/core/workgroup.hpp"

namespace rapt::sim {
namespace {

using u32 = std::uint32_t;

// The operand: register number, first bit, number of bits.
struct Field {
  u32 number, shift, width;
};
Field field(std::int32_t immediate) {
  const auto bits = static_cast<u32>(immediate);
  return {bits & 0x3f, bits >> 6 & 0x1f, (bits >> 11 & 0x1f) + 1};
}

u32 status(const Wave& w) {
  const u32 execz = w.exec() == 0, vccz = (w.lanes == 32 ? w.sgpr[sreg::vcc] : w.pair(sreg::vcc)) == 0;
  return (w.status & ~u32{0x601}) | static_cast<u32>(w.scc) | execz << 9 | vccz << 10;
}

constexpr u32 mode_register = 1, gfx12_state_priv = 4;

bool readable(const Wave& w, u32 number, u32& value) {
  const bool gfx9 = is_cdna(w.arch), twelve = contains(gfx12, w.arch);
  const auto low = [](std::uint64_t v) { return static_cast<u32>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<u32>(v >> 32); };
  switch (number) {
    case mode_register: value = w.mode; return true;
    case 2: value = twelve ? w.status : status(w); return true;
    case 3: value = w.trapsts; return !twelve;
    case gfx12_state_priv: value = twelve ? static_cast<u32>(w.scc) << 9 : w.index & 0xf; return true;  // gfx9: HW_ID
    case 5: value = (w.vgpr_count + 3) / 4 - 1; return true;                                            // GPR_ALLOC
    case 6: value = (w.group->lds_bytes + 511) / 512 << 12; return true;                                // LDS_ALLOC
    case 7: value = 0; return true;                                                                     // IB_STS
    case 15: value = low(private_aperture >> 48) | low(shared_aperture >> 48) << 16; return !twelve;    // SH_MEM_BASES
    case 17:
    case 18:
    case 19: value = 0; return twelve;  // exception flags and trap control
    case 20:
      value = gfx9 ? 0 : low(w.scratch_base);
      return true;  // XCC_ID on gfx940; FLAT_SCR_LO, SCRATCH_BASE_LO after
    case 21: value = high(w.scratch_base); return !gfx9;
    case 23: value = w.index & 0x1f; return !gfx9;                                    // HW_ID1
    case 24: value = 0; return !gfx9;                                                 // HW_ID2
    case 28: value = 0; return twelve;                                                // IB_STS2
    case 29: value = twelve ? low(w.cycles) : low(w.cycles) & 0xfffff; return !gfx9;  // SHADER_CYCLES
    case 30: value = high(w.cycles); return twelve;
    default: return false;
  }
}

[[noreturn]] void refuse(u32 number, const char* verb) {
  throw Fault(FaultKind::illegal_instruction, "hardware register " + std::to_string(number) + " cannot be " + verb);
}

void get(Wave& w, const Instruction& i) {
  const Field f = field(i.immediate);
  u32 value = 0;
  if (!readable(w, f.number, value)) refuse(f.number, "read");
  write_scalar32(w, i.dst, f.width == 32 ? value : value >> f.shift & ((1U << f.width) - 1));
}

void set(Wave& w, const Instruction& i, u32 value) {
  const Field f = field(i.immediate);
  const u32 mask = (f.width == 32 ? ~0U : (1U << f.width) - 1) << f.shift;
  u32* target = f.number == mode_register ? &w.mode : f.number == 2 ? &w.status : f.number == 3 ? &w.trapsts : nullptr;
  if (!target) refuse(f.number, "written");
  *target = (*target & ~mask) | (value << f.shift & mask);
}

}  // namespace

void register_hardware_registers(HandlerTable& t) {
  t.add("s_getreg_b32", get);
  // The value's register is encoded where other SOPK operations have their destination.
  t.add("s_setreg_b32", [](Wave& w, const Instruction& i) {
    set(w, i, read_scalar32(w, i.src[0].kind == OperandKind::none ? i.dst : i.src[0]));
  });
  t.add("s_setreg_imm32_b32", [](Wave& w, const Instruction& i) { set(w, i, static_cast<u32>(i.src[0].value)); });
}

}  // namespace rapt::sim
