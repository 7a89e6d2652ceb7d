#include "sim/tests/support/bits/telling_numbers.hpp"

#include "sim/tests/support/valu.hpp"

namespace rapt::sim::test {
namespace {

std::uint32_t word(std::mt19937& r) { return static_cast<std::uint32_t>(r()); }

// Numbers of moderate size, so that modifiers, rounding and clamping show.
std::uint32_t single(std::mt19937& r) {
  return (word(r) & 0x80000000) | (124 + word(r) % 8) << 23 | (word(r) & ((r() & 1) != 0 ? 0x7fffff : 0x780000));
}
std::uint32_t half(std::mt19937& r) { return (word(r) & 0x8000) | (12 + word(r) % 7) << 10 | (word(r) & 0x3ff); }
std::uint32_t double_high(std::mt19937& r) {
  return (word(r) & 0x80000000) | (1020 + word(r) % 8) << 20 | (word(r) & 0xfffff);
}

template <class T>
auto one_of(const T& values, std::mt19937& r) {
  return values[r() % std::size(values)];
}
// So few values that lanes of two registers are often equal.
constexpr std::uint32_t few32[] = {0, 1, 2, 0x3f800000, 0xbf800000, 0x40000000, 0xffffffff, 0x7fc00000};
constexpr std::uint32_t few16[] = {0, 1, 2, 0x3c00, 0xbc00, 0x4000, 0xffff, 0x3f80};
constexpr std::uint32_t few_high[] = {0, 0x3ff00000, 0xbff00000, 0x40000000};

enum Kind : unsigned { f32, f16, f64, any, small, few_32, few_16, few_64, bf16, edges, mixed, kinds };

// A register's number. The upper half of a double is in an odd one.
std::uint32_t number(unsigned kind, bool odd, std::mt19937& r) {
  switch (kind) {
    case f32: return single(r);
    case f16: return half(r) | half(r) << 16;
    case f64: return odd ? double_high(r) : (r() & 3) == 0 ? 0 : word(r);
    case small: return (r() & 1) != 0 ? word(r) % 64 : 0U - word(r) % 64;
    case few_32: return one_of(few32, r);
    case few_16: return one_of(few16, r) | one_of(few16, r) << 16;
    case few_64: return odd ? one_of(few_high, r) : 0;
    case bf16: return single(r) >> 16 | (single(r) & 0xffff0000);
    case edges:
      if ((r() & 1) != 0) return one_of((r() & 1) != 0 ? edges_f32() : edges_u32(), r);
      return one_of(edges_f16(), r) | std::uint32_t{one_of(edges_f16(), r)} << 16;
    case mixed: return number(word(r) % mixed, odd, r);
    default: return word(r);
  }
}

void fill_memory(std::vector<unsigned char>& bytes, unsigned kind, std::mt19937& random) {
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    const std::uint32_t value = number(kind, at / 4 % 2 != 0, random);
    std::memcpy(bytes.data() + at, &value, 4);
  }
}

void set_pair(MachineState& s, unsigned index, std::uint64_t value) {
  s.sgpr[index] = static_cast<std::uint32_t>(value), s.sgpr[index + 1] = static_cast<std::uint32_t>(value >> 32);
}

void meet(MachineState& s, Target target, const Operand& o, std::uint64_t value, std::mt19937& random) {
  if (o.kind == OperandKind::sgpr && o.index < sreg::null && random() % 2 == 0) {
    s.sgpr[o.index] = static_cast<std::uint32_t>(value);
    if (o.dwords > 1) s.sgpr[o.index + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  if (o.kind != OperandKind::vgpr) return;
  std::uint32_t* row = &s.vgpr[std::size_t{o.index} * target.lanes];
  for (unsigned lane = 0; lane < target.lanes; lane += 3) {
    row[lane] = static_cast<std::uint32_t>(o.high ? value << 16 : value);
    if (o.dwords > 1) row[target.lanes + lane] = static_cast<std::uint32_t>(value >> 32);
  }
}

// Some lanes are equal, or differ only in signs.
void meet_each_other(MachineState& s, Target target, const Operand& a, const Operand& b, std::mt19937& random) {
  constexpr std::uint32_t signs[] = {0, 0x80000000, 0x80008000};
  if (a.kind != OperandKind::vgpr || b.kind != OperandKind::vgpr || a.dwords != b.dwords) return;
  for (unsigned lane = 1; lane < target.lanes; lane += 5)
    for (unsigned n = 0; n < a.dwords; ++n)
      s.vgpr[std::size_t{b.index + n} * target.lanes + lane] =
          s.vgpr[std::size_t{a.index + n} * target.lanes + lane] ^ (n + 1 == a.dwords ? signs[random() % 3] : 0);
}

}  // namespace

void fill_with_numbers(MachineState& s, Target target, unsigned kind, std::mt19937& random) {
  kind %= kinds;
  for (std::size_t n = 0; n < s.vgpr.size(); ++n) s.vgpr[n] = number(kind, n / target.lanes % 2 != 0, random);
  for (auto* bytes : {&s.memory, &s.lds, &s.scratch}) fill_memory(*bytes, kind, random);
  fill_scalars(s, target, kind, random);
  s.mode = word(random) & (mode::round_f32 | mode::round_f16_f64 | mode::denorm_f32 | mode::denorm_f16_f64);
  s.mode |= (random() % 3 != 0 ? mode::dx10_clamp : 0) | (random() % 2 != 0 ? mode::ieee : 0) |
            (random() % 3 == 0 ? mode::fp16_ovfl : 0);
  s.status = word(random) & 0x1e0, s.trapsts = word(random) & 0x1ff;
}

void fill_scalars(MachineState& s, Target target, unsigned kind, std::mt19937& random) {
  kind %= kinds;
  for (unsigned n = 0; n < sreg::count; ++n) s.sgpr[n] = number(kind, n % 2 != 0, random);
  s.sgpr[sreg::null] = 0;
  // All lanes, some, or few: with many, atomic operations on one address may hide differences.
  std::uint64_t lanes = random() % 3 == 0 ? ~std::uint64_t{0} : random() | std::uint64_t{random()} << 32;
  if (random() % 3 == 0) lanes = std::uint64_t{1} << random() % target.lanes | std::uint64_t{1} << random() % 32;
  set_pair(s, sreg::exec, target.lanes == 32 ? lanes & 0xffffffff : lanes);
  if (random() % 4 == 0) set_pair(s, sreg::vcc, 0);
  s.scc = random() % 2 != 0;
  // Offsets into LDS, and distances between registers.
  const std::uint32_t near = word(random) % 16 * 16, distance = word(random) % 8;
  s.sgpr[sreg::m0] = random() % 3 != 0 ? near : random() % 2 != 0 ? distance | distance << 16 : word(random);
}

void meet_constants(MachineState& s, Target target, const Instruction& i, std::mt19937& random) {
  if (i.opcode->format == Format::sopk)
    return meet(s, target, i.src[0], static_cast<std::uint64_t>(std::int64_t{i.immediate}), random);
  // Positions of bits, so that each bit of a literal is tested.
  for (const Operand& o : i.src)
    if (i.opcode->format <= Format::sopc && o.kind == OperandKind::sgpr && o.index < sreg::null && random() % 2 == 0)
      s.sgpr[o.index] = word(random) % 64;
  for (const Operand& constant : i.src) {
    if (constant.kind != OperandKind::constant) continue;
    for (const Operand& other : i.src) meet(s, target, other, constant.value, random);
  }
  if (i.opcode->format == Format::vopc) meet_each_other(s, target, i.src[0], i.src[1], random);
}

}  // namespace rapt::sim::test
