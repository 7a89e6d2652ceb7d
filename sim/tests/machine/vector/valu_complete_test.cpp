// Every vector operation of every architecture has a handler or is refused for a reason.
#include "sim/isa/decode.hpp"
#include "sim/machine/core/handlers.hpp"

#include <gtest/gtest.h>
#include <set>
#include <string>

namespace rapt::sim {
namespace {

constexpr std::array<Arch, arch_count> archs{Arch::gfx908,  Arch::gfx90a,  Arch::gfx942,  Arch::gfx950,
                                             Arch::gfx1100, Arch::gfx1151, Arch::gfx1201, Arch::gfx906};

// Interpolation reads attributes that only the graphics pipeline puts into LDS; v_illegal is not an operation.
bool is_refused(std::string_view name) { return name.starts_with("v_interp_") || name == "v_illegal"; }

bool is_vector(Format f) {
  return f == Format::vop1 || f == Format::vop2 || f == Format::vopc || f == Format::vop3 || f == Format::vopd;
}

TEST(ValuComplete, EveryOperationHasAHandler) {
  for (const Arch arch : archs) {
    unsigned count = 0;
    for (const Opcode& row : opcodes(arch)) {
      if (!is_vector(row.format) || is_refused(row.name)) continue;
      ++count;
      const unsigned lanes = row.format == Format::vopd ? 32 : 64;
      EXPECT_NE(handlers().find(row.name, arch, lanes), nullptr) << name(arch) << " " << row.name;
    }
    EXPECT_GT(count, 400U) << name(arch);
  }
}

TEST(ValuComplete, InterpolationHasNone) {
  for (const std::string_view name : {"v_interp_p1_f32", "v_interp_p2_f32", "v_interp_mov_f32", "v_illegal"})
    EXPECT_EQ(handlers().find(name, Arch::gfx908, 64), nullptr) << name;
}

}  // namespace
}  // namespace rapt::sim
