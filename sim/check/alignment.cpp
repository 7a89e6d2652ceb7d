// Misaligned accesses. What the machine does with one depends on SH_MEM_CONFIG.alignment_mode (RDNA3 ISA document,
// "Memory Alignment and Out-of-Range Behavior"): in the mode UNALIGNED, which ROCm sets, only atomics and formatted
// buffer accesses need alignment; in the mode DWORD the machine clears low address bits, and reads or writes elsewhere.
// The rule here is what gives the same in both, on every architecture:
//   atomics                      their size
//   loads and stores             the smaller of their size and a dword, in every memory. LDS accesses of 8, 12 and 16
//                                bytes too: compilers for ROCm count on 4 bytes being enough for them
//   formatted buffer accesses    the smaller of the element and a dword
//   gfx950's transposing LDS     8 bytes, 16 for those of 12
//   scalar memory                a dword: the two lowest bits of base and offset are ignored in every mode
#include "sim/check/checks.hpp"

namespace rapt::sim {
namespace {

class AlignmentCheck final : public Check {
 public:
  void before(Wave& wave, const Entry& entry) override {
    entry_ = &entry;
    if (entry.effects.unit == Unit::smem && (entry.effects.loads || entry.effects.stores)) check_scalar(wave, entry);
  }

  void access(Wave& wave, const Instruction& i, const Access& access) override {
    // Of an access that is told byte by byte, the first byte tells: some lane is misaligned.
    const unsigned bytes = std::max(access.bytes, access.part_of);
    if (entry_->effects.unit == Unit::smem || bytes <= 1) return;
    const unsigned needed = alignment(i, access, bytes);
    const std::uint64_t low = address_bits(access);
    if ((low & (needed - 1)) != 0) [[unlikely]]
      fail(wave, access, bytes, needed);
  }

 private:
  static unsigned alignment(const Instruction& i, const Access& access, unsigned bytes) {
    if (access.action == Action::atomic) return std::bit_ceil(bytes);
    if (access.space == Space::lds && bytes >= 8 && i.opcode->name.find("_tr_") != std::string_view::npos)
      return std::bit_ceil(bytes);
    return std::min(4U, std::bit_floor(bytes));
  }

  static void fail(const Wave& wave, const Access& access, unsigned bytes, unsigned needed) {
    const std::uint64_t base = access.space == Space::lds ? reinterpret_cast<std::uint64_t>(wave.group->lds.data()) : 0;
    for_lanes(access.lanes, [&](unsigned lane) {
      if ((access.at[lane] & (needed - 1)) == 0) return;
      const std::uint64_t address = access.at[lane] - base;
      char text[64];
      std::snprintf(text, sizeof text, access.space == Space::lds ? "LDS byte %llu" : "address 0x%llx",
                    static_cast<unsigned long long>(address));
      report("misaligned " + std::string(access.action == Action::atomic ? "atomic" : "access") + " of " +
                 std::to_string(bytes) + " bytes at " + text + ", which needs a multiple of " + std::to_string(needed),
             lane, address);
    });
  }

  // gfx12 has loads of bytes and words.
  static void check_scalar(const Wave& wave, const Entry& entry) {
    const Instruction& i = entry.instruction;
    const std::string_view name = i.opcode->name;
    const bool byte = name.ends_with("_u8") || name.ends_with("_i8");
    const bool half = name.ends_with("_u16") || name.ends_with("_i16");
    const unsigned needed = byte ? 1 : half ? 2 : 4;
    const std::uint32_t base = wave.sgpr[i.src[0].index] & 3;
    const std::uint32_t register_offset = i.src[1].kind == OperandKind::none ? 0 : read_scalar32(wave, i.src[1]);
    const std::uint32_t any = half ? base + register_offset + static_cast<std::uint32_t>(i.offset)
                                   : base | register_offset | static_cast<std::uint32_t>(i.offset);
    if ((any & (needed - 1)) != 0)
      report("misaligned scalar access: base + " + std::to_string(base) + ", register offset " +
             std::to_string(register_offset) + ", offset " + std::to_string(i.offset) +
             ": each needs to be a multiple of " + std::to_string(needed));
  }

  const Entry* entry_ = nullptr;
};

}  // namespace

std::unique_ptr<Check> make_alignment_check(Workgroup&) { return std::make_unique<AlignmentCheck>(); }

}  // namespace rapt::sim
