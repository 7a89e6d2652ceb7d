#include "sim/tests/support/vop/forms.hpp"

#include "sim/tests/support/programs/assemble.hpp"

#include <algorithm>
#include <stdexcept>

namespace rapt::sim::test {
namespace {

constexpr std::uint32_t nop = 0xbf800000;
// Registers that distinguish the sources in LLVM's text. Short encodings can only name halves of v0 to v127.
constexpr std::array<unsigned, 3> vgprs = {64, 96, 128}, sgprs = {24, 28, 32};
constexpr unsigned carry_out = 20;
// fmamk and fmaak; small enough to be written as an f16 as well.
constexpr std::uint32_t mandatory_literal = 0x00004500;

bool is_vector(Format format) {
  return format == Format::vop1 || format == Format::vop2 || format == Format::vopc || format == Format::vop3 ||
         format == Format::vop3p;
}

bool is_mai(std::string_view name) { return name.starts_with("v_mfma_") || name.starts_with("v_smfmac_"); }

// Whether op_sel_hi is 0 in the plain form. It is where op_sel_hi means something else. It is for pairs of 32 bits,
// where no document of CDNA says what a constant's second dword is: each source's first dword goes to both results.
bool is_plain_without_op_sel_hi(std::string_view name) {
  const bool pair = name.starts_with("v_pk_mov_b32") || (name.starts_with("v_pk_") && name.ends_with("_f32"));
  return pair || is_mai(name) || name.starts_with("v_accvgpr") || name.starts_with("v_fma_mix");
}

// The codes of VOP1, VOP2 and VOPC in VOP3 (ISA documents, "Microcode formats").
unsigned vop3_code(const Opcode& opcode, bool gfx9) {
  switch (opcode.format) {
    case Format::vop1: return opcode.code + (gfx9 ? 0x140 : 0x180);
    case Format::vop2: return opcode.code + 0x100;
    default: return opcode.code;
  }
}

// `codes`: src0, src1 and src2, 256 and more for VGPRs.
Sample encode(const Opcode& opcode, Arch arch, bool e64, std::array<unsigned, 3> codes) {
  const bool gfx9 = is_cdna(arch);
  const std::uint32_t code = opcode.code;
  if (!e64) {
    const std::uint32_t second = (codes[1] & 0xff) << 9;
    switch (opcode.format) {
      case Format::vop1: return {0x7e000000 | code << 9 | codes[0], mandatory_literal, nop, nop};
      case Format::vop2: return {code << 25 | second | codes[0], mandatory_literal, nop, nop};
      default: return {0x7c000000 | code << 17 | second | codes[0], mandatory_literal, nop, nop};
    }
  }
  const std::uint32_t sources = codes[0] | codes[1] << 9 | codes[2] << 18;
  if (opcode.format == Format::vop3p) {
    const std::uint32_t word = (gfx9 ? 0xd3800000 : 0xcc000000) | code << 16;
    if (is_plain_without_op_sel_hi(opcode.name)) return {word, sources, nop, nop};
    return {word | 1U << 14, sources | 3U << 27, nop, nop};
  }
  // v_bitop3: its table of three inputs, here their sum modulo 2, takes the place of neg, abs and omod.
  const bool bits = opcode.name.starts_with("v_bitop3_");
  const std::uint32_t carry = bits ? 2U << 8 : opcode.dst2 == Type::mask ? carry_out << 8 : 0;
  return {(gfx9 ? 0xd0000000 : 0xd4000000) | vop3_code(opcode, gfx9) << 16 | carry,
          sources | (bits ? 6U << 29 | 2U << 27 : 0), nop, nop};
}

// gfx950's scaled products: a prefix that names the scales, and the product with abid of 1.
Sample encode_scaled(const Opcode& opcode, std::array<unsigned, 3> codes) {
  return {0xd3ac0000, 0x100 | 40 | (0x100 | 44) << 9, 0xd3800800 | (opcode.code & 0x7fU) << 16,
          codes[0] | codes[1] << 9 | codes[2] << 18};
}

// "v64", "v[64:65]", "v64.l", "a[0:3]", "s20"; file 0 for anything else.
VopRegister parse_register(std::string_view text) {
  if (text.size() < 2 || std::string_view("vas").find(text[0]) == std::string_view::npos) return {};
  const bool range = text[1] == '[';
  const std::string numbers(text.substr(range ? 2 : 1));
  if (numbers.empty() || numbers[0] < '0' || numbers[0] > '9') return {};
  std::size_t end = 0;
  const auto first = static_cast<unsigned>(std::stoul(numbers, &end));
  if (!range) return {text[0], first, 1};
  return {text[0], first, static_cast<unsigned>(std::stoul(numbers.substr(end + 1))) - first + 1};
}

std::optional<unsigned> source_number(VopRegister in) {
  if (in.file == 0) return std::nullopt;
  const auto& places = in.file == 's' ? sgprs : vgprs;
  const auto* found = std::find(places.begin(), places.end(), in.first);
  return found == places.end() ? std::nullopt : std::optional(static_cast<unsigned>(found - places.begin()));
}

std::vector<std::string> operands(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t at = text.find(' ');
  while (at != text.npos) {
    const std::size_t begin = at + 1, end = text.find_first_of(", ", begin);
    parts.push_back(text.substr(begin, end - begin));
    at = end != text.npos && text[end] == ',' ? end + 1 : text.npos;
  }
  return parts;
}

void read_operands(VopForm& form) {
  bool before = true;
  for (const std::string& text : operands(form.text)) {
    const VopRegister in = parse_register(text);
    const auto number = source_number(in);
    if (!number) {
      if (before && (in.file == 'v' || in.file == 'a')) form.dst = in;
      continue;
    }
    before = false;
    const unsigned base = form.e64 ? (form.size == 4 ? 96 : 32) : 0;
    const bool any = form.e64 || *number == 0;
    form.sources.push_back({*number, base + 9 * *number, any, text, in});
  }
}

struct Candidate {
  const Opcode* opcode;
  bool e64;
};

// A scalar register if LLVM or the decoder accepts no VGPR: lane selects, masks.
std::array<unsigned, 3> codes_of(unsigned scalars) {
  std::array<unsigned, 3> codes{};
  for (unsigned k = 0; k < 3; ++k) codes[k] = (scalars >> k & 1) != 0 ? sgprs[k] : 256 + vgprs[k];
  return codes;
}

std::vector<Candidate> candidates(Arch arch) {
  std::vector<Candidate> list;
  for (const Opcode& opcode : opcodes(arch)) {
    if (!is_vector(opcode.format) || opcode.name == "v_mfma_ld_scale_b32")
      continue;  // a prefix, executed with its product
    const bool short_form = opcode.format != Format::vop3 && opcode.format != Format::vop3p;
    if (short_form) list.push_back({&opcode, false});
    if (!short_form || (opcode.traits & trait::no_e64) == 0) list.push_back({&opcode, true});
  }
  return list;
}

std::vector<Sample> encode_all(Arch arch, const std::vector<Candidate>& list, unsigned scalars) {
  std::vector<Sample> samples;
  for (const Candidate& c : list) {
    const bool scaled = c.opcode->format == Format::vop3p && c.opcode->code >= 0x80;
    samples.push_back(scaled ? encode_scaled(*c.opcode, codes_of(scalars))
                             : encode(*c.opcode, arch, c.e64, codes_of(scalars)));
  }
  return samples;
}

// The same with op_sel_hi making every source an f16.
void add_mix_of_halves(std::vector<VopForm>& forms) {
  std::vector<VopForm> halves;
  for (VopForm& form : forms) {
    if (!form.is_mix()) continue;
    halves.push_back(form);
    halves.back().words[0] |= 1U << 14;
    halves.back().words[1] |= 3U << 27;
    halves.back().text += " op_sel_hi:[1,1,1]";
  }
  forms.insert(forms.end(), halves.begin(), halves.end());
}

}  // namespace

bool VopForm::has(std::string_view part) const {
  const std::string name = "_" + std::string(opcode->name) + "_";
  return name.find("_" + std::string(part) + "_") != name.npos;
}

bool VopForm::is_matrix() const { return is_mai(opcode->name) || starts_with("v_wmma_") || starts_with("v_swmmac_"); }

std::vector<VopForm> vop_forms(Arch arch) {
  const unsigned lanes = default_lanes(arch);
  std::vector<Candidate> open = candidates(arch);
  std::vector<VopForm> forms;
  for (unsigned scalars = 0; scalars < 8 && !open.empty(); ++scalars) {
    const std::vector<Sample> samples = encode_all(arch, open, scalars);
    const std::vector<Disassembled> llvm = disassemble(arch, lanes, samples);
    std::vector<Candidate> rest;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (llvm[i].text.empty() || !decode({arch, lanes}, samples[i])) {
        rest.push_back(open[i]);
        continue;
      }
      VopForm form{open[i].opcode, arch, lanes, open[i].e64, samples[i], 0, llvm[i].text, {}, {}};
      form.size = static_cast<unsigned>(llvm[i].words.size());
      read_operands(form);
      forms.push_back(std::move(form));
    }
    open = std::move(rest);
  }
  if (!open.empty()) throw std::runtime_error("no form of " + std::string(open[0].opcode->name));
  add_mix_of_halves(forms);
  return forms;
}

Sample with_source(const VopForm& form, const VopSource& source, unsigned code) {
  Sample words = form.words;
  std::uint32_t& word = words[source.low / 32];
  const unsigned shift = source.low % 32;
  word = (word & ~(0x1ffU << shift)) | code << shift;
  return words;
}

std::optional<Instruction> decode_form(const VopForm& form, const Sample& words) {
  return decode({form.arch, form.lanes}, words);
}

}  // namespace rapt::sim::test
