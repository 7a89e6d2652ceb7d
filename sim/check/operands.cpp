// gfx11's WMMA reads a copy of A and B for every sixteen lanes, and the copies must be equal. Lanes 0-15 are replicated
// into 16-31, in a wave of 64 also into 32-47 and 48-63 (RDNA3 ISA document, "Wave Matrix Multiply Accumulate"). EXEC
// is ignored.
#include "sim/check/checks.hpp"
#include "sim/check/register_name.hpp"

namespace rapt::sim {
namespace {

class OperandCheck final : public Observer {
 public:
  void before(Wave& wave, const Entry& entry) override {
    if (entry.effects.unit != Unit::matrix || !contains(gfx11, wave.arch)) return;
    for (unsigned n = 0; n < 2; ++n) {
      const Operand& o = entry.instruction.src[n];
      if (o.kind != OperandKind::vgpr) continue;
      const bool differ = wave.lanes == 32 ? copies_differ<32>(wave.row(o.index), o.dwords)
                                           : copies_differ<64>(wave.row(o.index), o.dwords);
      if (differ)
        for (unsigned d = 0; d < o.dwords; ++d) find_difference(wave, o.index + d, n == 0 ? 'A' : 'B');
    }
  }

 private:
  template <unsigned L>
  static bool copies_differ(const std::uint32_t* row, unsigned rows) {
    std::array<std::uint32_t, 16> differs{};
    for (unsigned n = 0; n < rows; ++n, row += L)
      for (unsigned first = 16; first < L; first += 16)
        for (unsigned l = 0; l < 16; ++l) differs[l] |= row[l] ^ row[first + l];
    std::uint32_t any = 0;
    for (const std::uint32_t lane : differs) any |= lane;
    return any != 0;
  }
  static void find_difference(Wave& wave, unsigned index, char operand) {
    const std::uint32_t* row = wave.row(index);
    for (unsigned l = 16; l < wave.lanes; ++l)
      if (row[l] != row[l % 16])
        report(std::string("the copies of matrix ") + operand + " differ: " + register_name(RegisterFile::vgpr, index) +
                   " is " + hexadecimal(row[l % 16]) + " in lane " + std::to_string(l % 16) + " and " +
                   hexadecimal(row[l]) + " in lane " + std::to_string(l),
               l);
  }
  static std::string hexadecimal(std::uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%08x", value);
    return text;
  }
};

}  // namespace

std::unique_ptr<Observer> make_operand_check(Workgroup&) { return std::make_unique<OperandCheck>(); }

}  // namespace rapt::sim
