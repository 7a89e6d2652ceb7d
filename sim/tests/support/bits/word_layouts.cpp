#include "sim/tests/support/bits/word_layouts.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>

namespace rapt::sim::test {
namespace {

using Fields = std::vector<BitField>;

std::string_view suffix_name(Suffix suffix) {
  static constexpr std::string_view names[] = {"", " literal", " DPP16", " DPP8", " DPP8 FI", " SDWA"};
  return names[static_cast<unsigned>(suffix)];
}

// The names that are built live as long as the process.
std::string_view joined(std::string_view name, std::string_view more) {
  static std::map<std::string, std::string> names;
  std::string text = std::string(name) + std::string(more);
  return names.try_emplace(text, text).first->second;
}

constexpr unsigned code_literal = 255;

// The value of src0 that announces the suffix.
unsigned announcement(Suffix suffix) {
  switch (suffix) {
    case Suffix::sdwa: return 249;
    case Suffix::dpp16: return 250;
    case Suffix::dpp8: return 233;
    case Suffix::dpp8_fi: return 234;
    default: return code_literal;
  }
}

Fields suffix_fields(Suffix suffix, Arch arch, Format format) {
  using enum Fill;
  switch (suffix) {
    case Suffix::none: return {};
    case Suffix::literal: return {{"literal", 0, 32, number}};
    case Suffix::dpp8:
    case Suffix::dpp8_fi: return {{"dpp src0", 0, 8, vgpr}, {"lane_sel", 8, 24, any}};
    case Suffix::dpp16: {
      Fields out = {{"dpp src0", 0, 8, vgpr},      {"dpp_ctrl", 8, 9, control},   {"bound_ctrl", 19, 1, any},
                    {"src0_neg", 20, 1, modifier}, {"src0_abs", 21, 1, modifier}, {"src1_neg", 22, 1, modifier},
                    {"src1_abs", 23, 1, modifier}, {"bank_mask", 24, 4, mask},    {"row_mask", 28, 4, mask}};
      if (is_rdna(arch)) out.push_back({"fi", 18, 1, any});
      return out;
    }
    case Suffix::sdwa: break;
  }
  Fields out = {{"sdwa src0", 0, 8, vgpr},     {"src0_sel", 16, 3, select},    {"src0_sext", 19, 1, modifier},
                {"src0_neg", 20, 1, modifier}, {"src0_abs", 21, 1, modifier},  {"s0", 23, 1, modifier},
                {"src1_sel", 24, 3, select},   {"src1_sext", 27, 1, modifier}, {"src1_neg", 28, 1, modifier},
                {"src1_abs", 29, 1, modifier}, {"s1", 31, 1, modifier}};
  const Fields compare = {{"sdst", 8, 7, sgpr}, {"sd", 15, 1, form}};
  const Fields other = {
      {"dst_sel", 8, 3, select}, {"dst_unused", 11, 2, any}, {"clamp", 13, 1, modifier}, {"omod", 14, 2, modifier}};
  const Fields& destination = format == Format::vopc ? compare : other;
  out.insert(out.end(), destination.begin(), destination.end());
  return out;
}

// VOP3 with a second destination has it in place of abs and op_sel.
Fields with_second_destination(Fields fields) {
  std::erase_if(fields, [](const BitField& f) { return f.name == "abs" || f.name == "op_sel"; });
  fields.push_back({"sdst", 8, 7, Fill::sgpr});
  return fields;
}

// Operations that would seldom accept random numbers.
void specialize(Fields& fields, const Opcode& opcode) {
  const auto fill = [&](std::string_view field, Fill with) {
    for (BitField& f : fields)
      if (f.name == field) f.fill = with;
  };
  const std::string_view name = opcode.name;
  if (name.starts_with("s_sendmsg_rtn")) fill("ssrc0", Fill::message);
  if (name.starts_with("s_barrier")) fill("ssrc0", Fill::barrier), fill("simm16", Fill::barrier);
  if (name.starts_with("s_getreg") || name.starts_with("s_setreg")) fill("simm16", Fill::hardware_register);
}

Layout make(const LayoutRow& row, Suffix suffix, Arch arch, const Opcode& opcode) {
  Layout out{
      joined(row.name, suffix_name(suffix)), {}, row.dwords + (suffix != Suffix::none ? 1U : 0U), suffix, row.fields};
  const bool scaled = row.dwords == 4;
  const std::uint32_t code = opcode.code + row.first_code;
  out.fixed[0] = scaled ? row.base : row.base | code << row.op_shift;
  if (scaled) out.fixed[2] = 0xd3800000 | (code & 0x7f) << 16;
  if (row.name == "VOP3" && opcode.dst2 == Type::mask) out.fields = with_second_destination(out.fields);
  specialize(out.fields, opcode);
  for (BitField field : suffix_fields(suffix, arch, row.format)) {
    field.low = static_cast<std::uint8_t>(field.low + 32 * row.dwords);
    out.fields.push_back(field);
  }
  // The source that announces the suffix is not a free field, except for a literal's.
  if (suffix != Suffix::none && suffix != Suffix::literal) {
    const auto src0 = std::find_if(out.fields.begin(), out.fields.end(), [](auto& f) { return f.name == "src0"; });
    out.fixed[src0->low / 32] |= announcement(suffix) << src0->low % 32;
    out.fields.erase(src0);
  }
  return out;
}

bool is_matrix(const Opcode& row) { return (row.traits & (trait::matrix | trait::sparse)) != 0; }

}  // namespace

Layout::Place Layout::place(unsigned bit) const {
  for (const BitField& field : fields) {
    if (bit >= field.low && bit < unsigned{field.low} + field.bits) return {field.name, bit - field.low};
  }
  if (bit >= 32 * dwords) return {"literal", bit - 32 * dwords};
  return {"unnamed", bit};
}

std::uint32_t Layout::form(const Words& words) const {
  std::uint32_t out = 0;
  for (const BitField& field : fields)
    if (field.fill == Fill::form)
      out = out << field.bits | (words[field.low / 32] >> field.low % 32 & ((1U << field.bits) - 1));
  return out;
}

std::vector<Layout> layouts(Arch arch, const Opcode& row) {
  if (is_cdna(arch) && is_matrix(row)) {
    const bool scaled = row.src[3] != Type::none;
    return {make(gfx9_matrix_layout(scaled), Suffix::none, arch, row)};
  }
  std::vector<Layout> out;
  for (const LayoutRow& layout : is_cdna(arch) ? gfx9_layouts() : rdna_layouts()) {
    if (layout.format != row.format || !contains(layout.archs, arch)) continue;
    if (layout.name == "VOPD X" && row.code > 15) continue;
    out.push_back(make(layout, Suffix::none, arch, row));
    for (const Suffix suffix : layout.suffixes) out.push_back(make(layout, suffix, arch, row));
  }
  return out;
}

namespace {

class Values {
 public:
  Values(Arch arch, std::mt19937& random) : arch_(arch), random_(random) {
    constexpr unsigned choices[] = {0, 0, 2, 4, 6};  // eighths
    clear_ = choices[random() % std::size(choices)];
    modify_ = random() % 3 == 0 ? 0 : 4;
  }
  void clear_none() { clear_ = 0, modify_ = 4; }

  // Single bits, numbers, and halfway cases of rounding to fewer bits and to integers.
  std::uint32_t literal() {
    constexpr std::uint32_t numbers[] = {0x3f800000, 0xc0490fdb, 0x80000080, 0x3c003c01, 0xc2480000, 0x4e9e4321,
                                         0x3ff00000, 0x00003555, 0x43300000, 0x41500000, 0x41e00000, 0x0000fbff,
                                         0xffffffff, 0x4f000000, 0x4c123456, 0x40200000, 0x40400000, 0xc0400000,
                                         0x00004100, 0x00003b55, 0x7fffffff};
    constexpr unsigned kept[] = {2, 3, 7, 10};
    constexpr std::uint32_t infinities[] = {0x7f800000, 0x7c00, 0x7ff00000};
    switch (word() % 9) {
      case 0: return word();
      case 8: return infinities[word() % std::size(infinities)];
      case 1: return 1U << word() % 32;
      case 2: return word() % 64;
      case 3: return ~(1U << word() % 32);
      case 4: {
        const unsigned bits = kept[word() % std::size(kept)];
        const std::uint32_t mantissa = (word() >> (32 - bits) << 1 | 1) << (22 - bits);
        return (word() & 0x80000000) | (115 + word() % 26) << 23 | mantissa;
      }
      case 5: return std::bit_cast<std::uint32_t>((static_cast<float>(word() % 65535) + 0.5F) / 65535);
      case 6: return 0x6400 + word() % 0x1400;
      default: return numbers[word() % std::size(numbers)];
    }
  }
  std::uint32_t of(const BitField& field) {
    const std::uint32_t mask = field.bits == 32 ? ~0U : (1U << field.bits) - 1;
    if (field.fill != Fill::modifier && field.fill != Fill::one && one_of_eight(clear_)) return 0;
    return value(field) & mask;
  }

 private:
  std::uint32_t word() { return static_cast<std::uint32_t>(random_()); }
  bool one_of_eight(unsigned n) { return word() % 8 < n; }

  std::uint32_t vgpr() {
    const std::uint32_t n = word();
    return n % 8 == 0 ? n >> 8 & 255 : 2 * (n >> 8 & 63) | static_cast<std::uint32_t>(n % 8 == 1);
  }
  std::uint32_t sgpr() {
    constexpr std::uint32_t named[] = {106, 106, 124, 126, 108};
    if (one_of_eight(1)) return named[word() % std::size(named)];
    return (word() % 24) * 4 + (one_of_eight(2) ? 2 : one_of_eight(1) ? 1 : 0);
  }
  std::uint32_t scalar_source() {
    constexpr std::uint32_t small[] = {128, 129, 130, 131, 192, 193, 193};  // 0 to 3, 64, -1
    if (one_of_eight(2)) return word() % 3 == 0 ? 128 + word() % 81 : small[word() % std::size(small)];
    if (one_of_eight(1)) return 240 + word() % 9;
    constexpr std::uint32_t special[] = {235, 236, 237, 238, 251, 252, 253};
    return one_of_eight(1) ? special[word() % std::size(special)] : sgpr();
  }
  std::uint32_t immediate() {
    switch (word() % 4) {
      case 0: return word();
      case 1: return word() % 16;
      case 2: return 0xffff;
      default: return 0;
    }
  }
  std::uint32_t control() {
    const std::uint32_t n = word() % 15 + 1;
    switch (word() % 8) {
      case 0: return 0x100 + n;                                       // row_shl
      case 1: return 0x110 + n;                                       // row_shr
      case 2: return 0x120 + n;                                       // row_ror
      case 3: return is_cdna(arch_) ? 0x130 + n / 4 * 4 : 0x160 + n;  // wave shifts; row_xmask
      case 4: return 0x140 + n % (is_cdna(arch_) ? 4 : 2);            // mirrors, and gfx9's broadcasts
      case 5: return 0x150 + n;                                       // row_newbcast, row_share
      default: return word() % 256;                                   // quad_perm
    }
  }

  std::uint32_t value(const BitField& field) {
    switch (field.fill) {
      case Fill::vgpr: return vgpr();
      case Fill::source: return one_of_eight(5) ? 256 + vgpr() : scalar_source();
      case Fill::scalar_source: return scalar_source();
      case Fill::sgpr: return sgpr();
      case Fill::base: return word() % 24 * (field.bits == 6 ? 2 : field.bits == 7 ? 4 : 1);
      case Fill::saddr: return one_of_eight(3) ? (is_cdna(arch_) ? 127U : 124U) : word() % 48 * 2;
      case Fill::modifier:
        if (field.name.starts_with("op_sel_hi") && one_of_eight(5)) return ~0U;
        return one_of_eight(modify_) ? word() : 0;
      case Fill::any:
      case Fill::form: return word();
      case Fill::one: return 1;
      case Fill::offset: return word() % 16 * 8;
      case Fill::immediate: return immediate();
      case Fill::number: return literal();
      case Fill::message: return one_of_eight(6) ? 131 : word();  // the time
      case Fill::barrier: return field.bits == 16 ? 0xffff : one_of_eight(6) ? 193 : sgpr();
      case Fill::hardware_register:
        return (one_of_eight(4) ? 1 + word() % 3 : word() % 32) | (one_of_eight(4) ? 31U << 11 : word() << 6);
      case Fill::select: return one_of_eight(4) ? 6 : word() % 6;
      case Fill::control: return control();
      case Fill::mask: return one_of_eight(5) ? 15 : word();
    }
    return 0;
  }

  Arch arch_;
  std::mt19937& random_;
  unsigned clear_, modify_;
};

void put(Words& words, const BitField& field, std::uint32_t value) {
  // No field crosses the end of a word, except for one that is the upper part of a whole word.
  words[field.low / 32] |= value << field.low % 32;
}

bool is_source(const BitField& field) { return field.fill == Fill::source || field.fill == Fill::scalar_source; }

}  // namespace

Words random_words(const Layout& layout, Arch arch, std::mt19937& random) {
  Values values(arch, random);
  Words words = layout.fixed;
  std::vector<const BitField*> sources;
  for (const BitField& field : layout.fields)
    if (is_source(field)) sources.push_back(&field);
  const BitField* by_literal = nullptr;
  if (layout.suffix == Suffix::literal && !sources.empty()) by_literal = sources[random() % sources.size()];
  for (const BitField& field : layout.fields) put(words, field, &field == by_literal ? code_literal : values.of(field));
  for (unsigned word = layout.dwords; word < most_words; ++word) words[word] = values.literal();
  return words;
}

Words other_words(const Layout& layout, Arch arch, Words words, std::string_view field, std::mt19937& random) {
  Values values(arch, random);
  values.clear_none();
  const auto renew = [&](const BitField& f) {
    const std::uint32_t mask = (f.bits == 32 ? ~0U : (1U << f.bits) - 1) << f.low % 32;
    words[f.low / 32] &= ~mask;
    put(words, f, values.of(f));
  };
  for (const BitField& f : layout.fields)
    if (f.name == field && random() % 2 == 0) renew(f);
  for (unsigned n = 0; n < 3; ++n) renew(layout.fields[random() % layout.fields.size()]);
  if (random() % 2 == 0)
    for (unsigned word = layout.dwords; word < most_words; ++word) words[word] = values.literal();
  return words;
}

}  // namespace rapt::sim::test
