// The architectures that the simulator executes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace rapt::sim {

enum class Arch : std::uint8_t { gfx908, gfx90a, gfx942, gfx950, gfx1100, gfx1151, gfx1201 };
inline constexpr int arch_count = 7;

// A set of architectures, one bit each.
using ArchSet = std::uint8_t;
constexpr ArchSet only(Arch arch) { return static_cast<ArchSet>(1U << static_cast<unsigned>(arch)); }
constexpr bool contains(ArchSet set, Arch arch) { return (set & only(arch)) != 0; }

inline constexpr ArchSet cdna = 0b0001111;
inline constexpr ArchSet gfx11 = 0b0110000;
inline constexpr ArchSet gfx12 = 0b1000000;
inline constexpr ArchSet rdna = gfx11 | gfx12;
inline constexpr ArchSet every_arch = cdna | rdna;

constexpr bool is_cdna(Arch arch) { return contains(cdna, arch); }
constexpr bool is_rdna(Arch arch) { return contains(rdna, arch); }

std::string_view name(Arch arch);
// "gfx942", also followed by target features ("gfx90a:sramecc+:xnack-"); none if it is unknown.
std::optional<Arch> parse_arch(std::string_view text);

}  // namespace rapt::sim
