// Encodings that are decoded only as far as their names.
#include "sim/isa/rdna/decode.hpp"

namespace rapt::sim::rdna_isa {
namespace {

// Where each encoding's opcodes begin in the table.
constexpr unsigned vinterp = 0x100, lds_direct = 0x200, exports = 0x300, image = 0x400, image_gfx12 = 0x500,
                   sample_gfx12 = 0x600, illegal = 0x700;

}  // namespace

void decode_unsupported(Reader& in) {
  if (in.word(0) == 0) {
    in.begin(Format::unsupported, illegal, 1);
    return;
  }
  switch (in.field(31, 26)) {
    case 0x33:
      if (in.field(25, 24) == 1) in.begin(Format::unsupported, vinterp + in.field(20, 16), 2);
      if (in.field(25, 24) == 2) in.begin(Format::unsupported, lds_direct + in.field(21, 20), 1);
      break;
    case 0x34:
      if (in.gfx12()) in.begin(Format::unsupported, image_gfx12 + in.field(21, 14), 3);
      break;
    case 0x36: in.begin(Format::unsupported, in.field(25, 18), 2); break;
    case 0x39:
      if (in.gfx12()) in.begin(Format::unsupported, sample_gfx12 + in.field(21, 14), 3);
      break;
    case 0x3c:
      if (!in.gfx12()) in.begin(Format::unsupported, image + in.field(25, 18), in.bit(0) ? 3 : 2);
      break;
    case 0x3e: in.begin(Format::unsupported, exports, 2); break;
    default: break;
  }
}

}  // namespace rapt::sim::rdna_isa
