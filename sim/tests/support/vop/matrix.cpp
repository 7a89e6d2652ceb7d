#include "sim/tests/support/vop/matrix.hpp"

#include <random>

namespace rapt::sim::test {
namespace {

std::uint64_t small_element(const std::string& type, Arch arch, std::mt19937& random) {
  const auto value = static_cast<int>(random() % 16) - 8;
  // 32-bit sums; some overflow.
  constexpr std::uint32_t starts[] = {0, 0x7fffffff, 0x80000000};
  if (type == "i32") return starts[random() % 3] + static_cast<std::uint32_t>(value);
  return encode_small(type, arch, value);
}

Rows small_rows(const VopForm& form, const std::string& type, unsigned dwords, unsigned distinct, unsigned seed) {
  std::mt19937 random(seed);
  const unsigned bits = type_bits(type);
  Rows rows(std::size_t{dwords} * form.lanes);
  for (unsigned l = 0; l < form.lanes; ++l) {
    for (unsigned at = 0; at < 32 * dwords; at += bits) {
      const std::uint64_t element = small_element(type, form.arch, random);
      rows[at / 32 * form.lanes + l] |= static_cast<std::uint32_t>(element << at % 32);
      if (bits == 64) rows[(at / 32 + 1) * form.lanes + l] = static_cast<std::uint32_t>(element >> 32);
    }
    for (unsigned d = 0; d < dwords && l >= distinct; ++d)
      rows[d * form.lanes + l] = rows[d * form.lanes + l % distinct];
  }
  return rows;
}

// Two different elements of each four, the lower one first.
Rows small_indices(const VopForm& form) {
  constexpr unsigned pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  std::mt19937 random(5);
  Rows rows(form.lanes);
  for (std::uint32_t& row : rows)
    for (unsigned at = 0; at < 32; at += 4) row |= pairs[random() % 6] << at;
  return rows;
}

unsigned bits_of_set(const VopForm& form) {
  const MatrixName m = matrix_name(form);
  return 2 * form.sources[0].in.dwords * 32 / type_bits(m.a);
}

}  // namespace

std::vector<VopForm> matrix_forms(Arch arch) {
  std::vector<VopForm> forms = vop_forms(arch);
  std::erase_if(forms, [](const VopForm& form) { return !form.is_matrix() || form.has("f8f6f4"); });
  return forms;
}

MatrixName matrix_name(const VopForm& form) {
  return parse_matrix_name(std::string(form.opcode->name), form.arch, form.lanes);
}

std::vector<Rows> small_operands(const VopForm& form) {
  const MatrixName m = matrix_name(form);
  // gfx11's A and B are in lanes 0 to 15 and again in 16 to 31.
  const unsigned distinct = contains(gfx11, form.arch) ? 16 : form.lanes;
  return {small_rows(form, m.a, form.sources[0].in.dwords, distinct, 1),
          small_rows(form, m.b, form.sources[1].in.dwords, distinct, 2),
          m.sparse ? small_indices(form) : small_accumulator(form)};
}

Rows small_accumulator(const VopForm& form) {
  return small_rows(form, matrix_name(form).d, form.dst.dwords, form.lanes, 3);
}

unsigned index_sets(const VopForm& form) { return 32 / bits_of_set(form); }

Rows with_set_first(const VopForm& form, Rows indices, unsigned set) {
  for (std::uint32_t& row : indices) row >>= bits_of_set(form) * set;
  return indices;
}

}  // namespace rapt::sim::test
