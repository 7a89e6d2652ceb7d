#include "sim/isa/constants.hpp"

namespace rapt::sim {
namespace {

enum class Encoding { f16, bf16, f32, f64 };

constexpr std::array<std::array<std::uint64_t, 4>, 9> floats = {{
    {0x3800, 0x3f00, 0x3f000000, 0x3fe0000000000000},  // 0.5
    {0xb800, 0xbf00, 0xbf000000, 0xbfe0000000000000},  // -0.5
    {0x3c00, 0x3f80, 0x3f800000, 0x3ff0000000000000},  // 1.0
    {0xbc00, 0xbf80, 0xbf800000, 0xbff0000000000000},  // -1.0
    {0x4000, 0x4000, 0x40000000, 0x4000000000000000},  // 2.0
    {0xc000, 0xc000, 0xc0000000, 0xc000000000000000},  // -2.0
    {0x4400, 0x4080, 0x40800000, 0x4010000000000000},  // 4.0
    {0xc400, 0xc080, 0xc0800000, 0xc010000000000000},  // -4.0
    {0x3118, 0x3e22, 0x3e22f983, 0x3fc45f306dc9c882},  // 1 / (2 pi)
}};

Encoding encoding(Type type) {
  switch (type) {
    case Type::b16:
    case Type::i16:
    case Type::u16:
    case Type::f16:
    case Type::pk_f16: return Encoding::f16;
    case Type::bf16:
    case Type::pk_bf16: return Encoding::bf16;
    case Type::b64:
    case Type::i64:
    case Type::u64:
    case Type::f64: return Encoding::f64;
    default: return Encoding::f32;
  }
}

std::uint64_t width_mask(Type type) {
  switch (type) {
    case Type::b64:
    case Type::i64:
    case Type::u64:
    case Type::f64:
    case Type::mask: return ~std::uint64_t{0};
    default: return 0xffffffff;
  }
}

// Operands that see the low half of a literal or constant, unless op_sel selects the upper one. For b8 it selects one
// of four bytes.
bool is_narrow(Type type) { return is_integer16(type) || type == Type::f16 || type == Type::bf16; }

}  // namespace

bool is_integer16(Type type) { return type == Type::b16 || type == Type::i16 || type == Type::u16; }

std::optional<std::uint64_t> inline_constant(unsigned code, Type type) {
  if (code >= 128 && code <= 192) return code - 128;
  if (code >= 193 && code <= 208) return (192 - std::int64_t{code}) & static_cast<std::int64_t>(width_mask(type));
  if (code >= 240 && code <= 248) return floats[code - 240][static_cast<unsigned>(encoding(type))];
  return std::nullopt;
}

std::optional<unsigned> inline_code(std::uint64_t bits, Type type) {
  const std::uint64_t seen = is_narrow(type) ? 0xffff : ~std::uint64_t{0};
  for (unsigned code = 128; code <= 248; ++code) {
    const auto constant = inline_constant(code, type);
    if (constant && ((*constant ^ bits) & seen) == 0) return code;
  }
  return std::nullopt;
}

std::uint64_t literal_constant(std::uint32_t literal, Type type) {
  if (type == Type::f64) return std::uint64_t{literal} << 32;
  if (type == Type::i64) return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(literal)});
  return is_narrow(type) ? literal & 0xffff : literal;
}

}  // namespace rapt::sim
