#include "sim/isa/opcode.hpp"

namespace rapt::sim {

unsigned dwords(Type type, unsigned lanes) {
  switch (type) {
    case Type::none: return 0;
    case Type::mask: return lanes / 32;
    case Type::b96: return 3;
    case Type::b128: return 4;
    case Type::b160: return 5;
    case Type::b192: return 6;
    case Type::b256: return 8;
    case Type::b288: return 9;
    case Type::b320: return 10;
    case Type::b352: return 11;
    case Type::b384: return 12;
    case Type::b512: return 16;
    case Type::b1024: return 32;
    case Type::b64:
    case Type::i64:
    case Type::u64:
    case Type::f64:
    case Type::pk_f32:
    case Type::pk_b32: return 2;
    default: return 1;
  }
}

}  // namespace rapt::sim
