// gfx11's WMMA takes A and B once for every sixteen lanes and needs the copies equal (RDNA3 ISA document, "Wave Matrix
// Multiply Accumulate": lanes 0-15 are replicated into 16-31, in a wave of 64 also into 32-47 and 48-63). EXEC is
// ignored.
#include "sim/check/checks.hpp"
#include "sim/check/register_name.hpp"

namespace rapt::sim {
namespace {

class OperandCheck final : public Check {
 public:
  void before(Wave& wave, const Entry& entry) override {
    if (entry.effects.unit != Unit::matrix || !contains(gfx11, wave.arch)) return;
    for (unsigned n = 0; n < 2; ++n) {
      const Operand& o = entry.instruction.src[n];
      if (o.kind != OperandKind::vgpr) continue;
      for (unsigned d = 0; d < o.dwords; ++d) compare(wave, o.index + d, n == 0 ? 'A' : 'B');
    }
  }

 private:
  static void compare(Wave& wave, unsigned index, char operand) {
    const std::uint32_t* row = wave.row(index);
    std::uint32_t differs = 0;
    for (unsigned first = 16; first < wave.lanes; first += 16)
      for (unsigned l = 0; l < 16; ++l) differs |= row[l] ^ row[first + l];
    if (differs == 0) return;
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

std::unique_ptr<Check> make_operand_check(Workgroup&) { return std::make_unique<OperandCheck>(); }

}  // namespace rapt::sim
