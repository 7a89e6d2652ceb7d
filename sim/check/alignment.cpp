// Misaligned accesses, as the machine is set under ROCm: SH_MEM_CONFIG.alignment_mode is UNALIGNED, and compilers make
// use of it (RDNA3 ISA document, "Memory Alignment and Out-of-Range Behavior"; LLVM: unaligned-access-mode).
//
// What needs alignment there:
//   atomics                      their size
//   LDS accesses of 12 and 16    4 bytes, on which compilers for ROCm count
//   formatted buffer accesses    the smaller of the element and a dword
//   gfx950's transposing LDS     8 bytes; accesses of 12 bytes 16
//   scalar memory                a dword: the two lowest bits of base and offset are ignored in every mode
#include "sim/check/checks.hpp"
#include "sim/machine/memory/flat_access.hpp"

namespace rapt::sim {
namespace {

class AlignmentCheck final : public Observer {
 public:
  void before(Wave& wave, const Entry& entry) override {
    entry_ = &entry;
    if (entry.effects.unit == Unit::smem && (entry.effects.loads || entry.effects.stores)) check_scalar(wave, entry);
  }

  void access(Wave& wave, const Instruction& i, const Access& access) override {
    // An access that is reported byte by byte has a misaligned lane; only its first byte is checked.
    const unsigned bytes = std::max(access.bytes, access.part_of);
    if (entry_->effects.unit == Unit::smem || bytes <= 1) return;
    const unsigned needed = alignment(i, access, bytes);
    const std::uint64_t low = address_bits(access);
    if ((low & (needed - 1)) != 0) [[unlikely]]
      fail(wave, access, bytes, needed);
  }

 private:
  unsigned alignment(const Instruction& i, const Access& access, unsigned bytes) const {
    const auto says = [&i](std::string_view part) { return i.opcode->name.find(part) != std::string_view::npos; };
    if (is_atomic(access)) return std::bit_ceil(bytes);
    if (access.space == Space::lds && bytes >= 8) return says("_tr_") ? std::bit_ceil(bytes) : bytes > 8 ? 4 : 1;
    const bool formatted = entry_->effects.unit == Unit::buffer && says("_format");
    return formatted ? std::min(4U, std::bit_floor(bytes)) : 1;
  }

  // An LDS exchange of two values is reported as two loads and two stores.
  bool is_atomic(const Access& access) const {
    return access.action == Action::atomic || (access.space == Space::lds && entry_->effects.atomic);
  }

  void fail(const Wave& wave, const Access& access, unsigned bytes, unsigned needed) const {
    const std::uint64_t base = access.space == Space::lds ? reinterpret_cast<std::uint64_t>(wave.group->lds.data()) : 0;
    for_lanes(access.lanes, [&](unsigned lane) {
      if ((access.at[lane] & (needed - 1)) == 0) return;
      const std::uint64_t address = access.at[lane] - base;
      char text[64];
      std::snprintf(text, sizeof text, access.space == Space::lds ? "LDS byte %llu" : "address 0x%llx",
                    static_cast<unsigned long long>(address));
      report("misaligned " + std::string(is_atomic(access) ? "atomic" : "access") + " of " + std::to_string(bytes) +
                 " bytes at " + text + ", which needs a multiple of " + std::to_string(needed),
             lane, address);
    });
  }

  // gfx12 has loads of 8 and 16 bits.
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

std::unique_ptr<Observer> make_alignment_check(Workgroup&) { return std::make_unique<AlignmentCheck>(); }

}  // namespace rapt::sim
