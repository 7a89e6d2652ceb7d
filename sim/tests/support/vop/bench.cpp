#include "sim/tests/support/vop/bench.hpp"

#include "sim/tests/support/valu.hpp"

#include <random>

namespace rapt::sim::test {
namespace {

// One dword of a source in lane l. Four lanes in turn have a small integer, a float of the operand's width near 1, a
// pair of f16 near 1, and an edge value.
std::uint32_t value_of_lane(std::mt19937& random, unsigned lane, unsigned dword, bool wide) {
  const std::uint32_t bits = random();
  const double near_one = std::ldexp(static_cast<int>(bits % 127) - 63, -static_cast<int>(bits >> 8 & 7));
  switch (lane % 4) {
    case 0: return dword % 2 == 1 && wide ? 0 : bits % 64;
    case 1:
      if (!wide) return bits_of(static_cast<float>(near_one));
      return static_cast<std::uint32_t>(dword % 2 == 1 ? bits_of(near_one) >> 32 : 0);
    case 2:
      return nearest_half(static_cast<long double>(near_one)) |
             nearest_half(static_cast<long double>(static_cast<int>(bits >> 16 & 31) - 16)) << 16;
    default: return lane % 8 == 3 ? edges_f32()[bits % edges_f32().size()] : edges_u32()[bits % edges_u32().size()];
  }
}

}  // namespace

VopBench::VopBench(OneWave& wave, const VopForm& form)
    : wave_(wave), form_(form), handler_(tested_handler(form.opcode->name, form.arch, form.lanes)) {
  if (!handler_) throw std::runtime_error("no handler for " + std::string(form.opcode->name));
  for (unsigned d = 0; d < form_.dst.dwords; ++d)
    for (unsigned l = 0; l < form_.lanes; ++l) before_.push_back(0x40003c00U + (l << 20) + 0x1111 * d);
  reset_sources();
}

std::uint32_t* VopBench::row(VopRegister in, unsigned dword) {
  Wave& w = wave_.wave();
  return w.row(in.first + dword + (in.file == 'a' ? w.first_agpr : 0));
}

void VopBench::reset_sources() {
  std::mt19937 random(7);
  for (const VopSource& s : form_.sources) {
    if (s.in.file == 's') {
      for (unsigned d = 0; d < s.in.dwords; ++d) wave_.s(s.in.first + d) = random() & 0x3f;
      continue;
    }
    for (unsigned d = 0; d < s.in.dwords; ++d)
      for (unsigned l = 0; l < form_.lanes; ++l) row(s.in, d)[l] = value_of_lane(random, l, d, s.in.dwords == 2);
  }
}

std::vector<std::uint32_t> VopBench::source(const VopSource& source) {
  std::vector<std::uint32_t> rows;
  for (unsigned d = 0; d < source.in.dwords; ++d) {
    if (source.in.file == 's') rows.push_back(wave_.s(source.in.first + d));
    else rows.insert(rows.end(), row(source.in, d), row(source.in, d) + form_.lanes);
  }
  return rows;
}

void VopBench::set_source(const VopSource& source, const std::vector<std::uint32_t>& rows) {
  for (unsigned d = 0; d < source.in.dwords; ++d) {
    if (source.in.file == 's') wave_.s(source.in.first + d) = rows[d];
    else std::copy_n(rows.begin() + d * form_.lanes, form_.lanes, row(source.in, d));
  }
}

void VopBench::fill(const VopSource& source, const Bits& bits) {
  for (unsigned d = 0; d < source.in.dwords; ++d) {
    if (source.in.file == 's') wave_.s(source.in.first + d) = bits[d % bits.size()];
    else std::fill_n(row(source.in, d), form_.lanes, bits[d % bits.size()]);
  }
}

VopResult VopBench::run(const Instruction& instruction, const std::vector<std::uint32_t>& before) {
  Wave& w = wave_.wave();
  for (unsigned d = 0; d < form_.dst.dwords; ++d)
    std::copy_n(before.begin() + d * form_.lanes, form_.lanes, row(form_.dst, d));
  const std::array<std::uint32_t, sreg::count> sgprs = std::to_array(w.sgpr);
  handler_(w, instruction);
  VopResult result{{}, std::to_array(w.sgpr)};
  for (unsigned d = 0; d < form_.dst.dwords; ++d)
    result.vgprs.insert(result.vgprs.end(), row(form_.dst, d), row(form_.dst, d) + form_.lanes);
  std::copy(sgprs.begin(), sgprs.end(), w.sgpr);
  for (const VopSource& s : form_.sources)
    for (unsigned d = 0; s.in.file == 's' && d < s.in.dwords; ++d) result.sgprs[s.in.first + d] = 0;
  return result;
}

}  // namespace rapt::sim::test
