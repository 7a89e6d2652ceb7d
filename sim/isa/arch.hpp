// The architectures that the simulator executes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rapt::sim {

// The first arch_count architectures have instructions of their own, and kernels are compiled for them. The siblings
// after them run another architecture's code objects, renamed (kernels/siblings.hpp).
// clang-format off
enum class Arch : std::uint8_t {
  gfx908, gfx90a, gfx942, gfx950, gfx1100, gfx1151, gfx1201, gfx906,
  gfx1101, gfx1102, gfx1103, gfx1150, gfx1152, gfx1153, gfx1200
};
// clang-format on
inline constexpr int arch_count = 8, device_arch_count = 15;

// The architecture whose instructions a device has.
constexpr Arch instructions_of(Arch arch) {
  if (static_cast<int>(arch) < arch_count) return arch;
  if (arch <= Arch::gfx1103) return Arch::gfx1100;
  return arch == Arch::gfx1200 ? Arch::gfx1201 : Arch::gfx1151;
}

// A set of architectures with instructions of their own, one bit each. It contains their siblings too.
using ArchSet = std::uint16_t;
constexpr ArchSet only(Arch arch) { return static_cast<ArchSet>(1U << static_cast<unsigned>(arch)); }
constexpr bool contains(ArchSet set, Arch arch) { return (set & only(instructions_of(arch))) != 0; }

// CDNA, and the GPU that it came from: gfx906 has MI100's instructions, without matrices.
inline constexpr ArchSet cdna = 0b10001111;
inline constexpr ArchSet before_gfx90a = only(Arch::gfx906) | only(Arch::gfx908);
inline constexpr ArchSet gfx11 = 0b00110000;
inline constexpr ArchSet gfx12 = 0b01000000;
inline constexpr ArchSet rdna = gfx11 | gfx12;
inline constexpr ArchSet every_arch = cdna | rdna;

constexpr bool is_cdna(Arch arch) { return contains(cdna, arch); }
constexpr bool is_rdna(Arch arch) { return contains(rdna, arch); }

std::string_view name(Arch arch);
// "gfx942", also followed by target features ("gfx90a:sramecc+:xnack-"); none if it is unknown.
std::optional<Arch> parse_arch(std::string_view text);

}  // namespace rapt::sim
