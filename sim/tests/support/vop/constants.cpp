#include "sim/tests/support/vop/constants.hpp"

#include "sim/tests/support/programs/assemble.hpp"

#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>

namespace rapt::sim::test {
namespace {

// 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0 and 1 / (2 pi), which all documents give as bits (bf16: f32's upper
// half).
constexpr std::array<float, 8> floats = {0.5F, -0.5F, 1.0F, -1.0F, 2.0F, -2.0F, 4.0F, -4.0F};
constexpr std::array<std::uint32_t, 9> f16_bits = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                                   0xc000, 0x4400, 0xc400, 0x3118};

std::uint32_t f32_constant(unsigned code) {
  return code == 248 ? 0x3e22f983 : std::bit_cast<std::uint32_t>(floats[code - 240]);
}
std::uint64_t f64_constant(unsigned code) {
  return code == 248 ? 0x3fc45f306dc9c882 : std::bit_cast<std::uint64_t>(static_cast<double>(floats[code - 240]));
}

// What each line assembles to; none for one that is refused.
std::vector<std::optional<std::vector<std::uint8_t>>> try_assemble(Arch arch, const std::vector<std::string>& lines) {
  const std::string stem = temporary_folder() + "/try_" + std::string(name(arch));
  {
    std::ofstream source(stem + ".s");
    for (const std::string& line : lines) source << line << '\n';
  }
  shell("llvm-mc-22 -arch=amdgcn -mcpu=" + std::string(name(arch)) + (is_cdna(arch) ? "" : " -mattr=+real-true16") +
        " -show-encoding " + stem + ".s > " + stem + ".txt 2> " + stem + ".err || true");
  std::vector<bool> refused(lines.size());
  std::ifstream errors(stem + ".err");
  for (std::string line; std::getline(errors, line);) {
    const std::size_t at = line.find(".s:");
    if (at != line.npos && line.find(": error:") != line.npos) refused.at(std::stoul(line.substr(at + 3)) - 1) = true;
  }
  std::vector<std::vector<std::uint8_t>> encodings;
  std::ifstream output(stem + ".txt");
  for (std::string line; std::getline(output, line);) {
    std::size_t at = line.find("encoding: [");
    if (at == line.npos) continue;
    encodings.emplace_back();
    for (at = line.find("0x", at); at != line.npos; at = line.find("0x", at + 4))
      encodings.back().push_back(static_cast<std::uint8_t>(std::stoul(line.substr(at + 2, 2), nullptr, 16)));
  }
  std::vector<std::optional<std::vector<std::uint8_t>>> result(lines.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (!refused[i]) result[i] = encodings.at(next++);
  if (next != encodings.size()) throw std::runtime_error("llvm-mc's errors and encodings do not add up");
  for (const char* end : {".s", ".txt", ".err"}) std::filesystem::remove(stem + end);
  return result;
}

struct Candidate {
  const char* one;
  ConstantType type;
};
constexpr Candidate candidates[] = {{"1.0", ConstantType::integer},
                                    {"0x3c00", ConstantType::f16},
                                    {"0x3f80", ConstantType::bf16},
                                    {"0x3f800000", ConstantType::f32},
                                    {"0x3ff0000000000000", ConstantType::f64},
                                    {"0x3c003c00", ConstantType::f16_twice}};
constexpr unsigned code_of_one = 242, code_of_literal = 255;

std::string with_operand(const VopForm& form, const VopSource& source, const std::string& operand) {
  std::string text = form.text;
  return text.replace(text.find(source.text), source.text.size(), operand);
}

unsigned code_in(const std::vector<std::uint8_t>& bytes, const VopSource& source) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i) word |= std::uint32_t{bytes[source.low / 32 * 4 + i]} << 8 * i;
  return word >> source.low % 32 & 0x1ff;
}

// LLVM accepts only f64's encoding of 1.0 there, which is wrong: a constant has the type of C, which is that of
// D.
bool is_gfx11_matrix(const VopForm& form) { return contains(gfx11, form.arch) && form.starts_with("v_wmma_"); }
ConstantType type_of_result(const VopForm& form) {
  if (form.starts_with("v_wmma_f16")) return ConstantType::f16;
  return form.starts_with("v_wmma_bf16") ? ConstantType::bf16 : ConstantType::f32;
}

// RDNA4 7.2.2 and 7.7.2, RDNA3 7.5.1, RDNA3.5 7.2.2: the constants of these are in both halves of src0 and src1, and
// in all elements of a matrix of 16 bits. (v_dot2_f32_f16 and v_dot2acc_f32_f16 are as clang and AMD's emulator have
// them: in the low half. The text of 7.2.2 has them in both, a table in 7.5.1 and 7.7.2 says "use FP32 inline".)
bool repeats_constant(const VopForm& form, const VopSource& source) {
  if (form.starts_with("v_wmma_f16") || form.starts_with("v_wmma_bf16")) return true;
  if (is_cdna(form.arch) || source.number == 2) return false;
  return form.starts_with("v_dot2_f16_f16") || form.starts_with("v_dot2_bf16_bf16") ||
         form.starts_with("v_dot2_f32_bf16");
}

Bits in_both_halves(std::uint32_t half) { return {(half & 0xffff) * 0x10001}; }

// Sign-extended to 32 and to 64 bits, for halves and pairs of halves too (LLVM's getInlineEncodingV216 says that the
// hardware has them so).
Bits integer_bits(const VopForm& form, const VopSource& source, ConstantType type, unsigned code) {
  const auto value = static_cast<std::int32_t>(code <= 192 ? code - 128 : 192 - code);
  const auto bits = static_cast<std::uint32_t>(value);
  if (type == ConstantType::f64) return {bits, static_cast<std::uint32_t>(value >> 31)};
  // v_pk_fmac_f16 of gfx11 and later, as LLVM has it: in both halves, except for a negative one.
  if (type == ConstantType::f16_twice) return {bits | bits << 16};
  return repeats_constant(form, source) ? in_both_halves(bits) : Bits{bits};
}

}  // namespace

std::vector<std::vector<ConstantUse>> constant_uses(Arch arch, const std::vector<VopForm>& forms) {
  std::vector<std::string> lines;
  for (const VopForm& form : forms)
    for (const VopSource& source : form.sources)
      for (const Candidate& c : candidates)
        if (source.any) lines.push_back(with_operand(form, source, c.one));
  const auto encodings = try_assemble(arch, lines);
  std::vector<std::vector<ConstantUse>> uses;
  std::size_t next = 0;
  for (const VopForm& form : forms) {
    uses.emplace_back();
    for (const VopSource& source : form.sources) {
      ConstantUse use;
      for (const Candidate& c : candidates) {
        if (!source.any) break;
        const auto& bytes = encodings[next++];
        const unsigned code = bytes ? code_in(*bytes, source) : 0;
        // The first one that is accepted: LLVM truncates what is too long for some 16-bit operands.
        if (code == code_of_one && use.type <= ConstantType::integer) use.type = c.type;
        use.literal = use.literal || code == code_of_literal;
      }
      if (use.type != ConstantType::none && is_gfx11_matrix(form)) use.type = type_of_result(form);
      uses.back().push_back(use);
    }
  }
  return uses;
}

bool has_wrong_constants(const VopForm& form) { return form.arch == Arch::gfx908 && form.is_matrix(); }

const std::vector<unsigned>& inline_codes() {
  static const std::vector<unsigned> codes = [] {
    std::vector<unsigned> all;
    for (unsigned code = 128; code <= 208; ++code) all.push_back(code);
    for (unsigned code = 240; code <= 248; ++code) all.push_back(code);
    return all;
  }();
  return codes;
}

std::string name_of_constant(unsigned code) {
  if (code == 248) return "1/(2 pi)";
  if (code >= 240) return std::to_string(floats[code - 240]);
  return std::to_string(code <= 192 ? static_cast<int>(code) - 128 : 192 - static_cast<int>(code));
}

Bits bits_of_constant(const VopForm& form, const VopSource& source, ConstantType type, unsigned code) {
  if (code < 240) return integer_bits(form, source, type, code);
  const std::uint32_t f16 = f16_bits[code - 240], f32 = f32_constant(code), bf16 = f32 >> 16;
  if (form.is_mix() && !(form.op_sel_hi() >> source.number & 1)) return {f32};
  const bool every_half = repeats_constant(form, source);
  switch (type) {
    case ConstantType::f16: return every_half ? in_both_halves(f16) : Bits{f16};
    case ConstantType::f16_twice: return in_both_halves(f16);
    case ConstantType::bf16: return every_half ? in_both_halves(bf16) : Bits{bf16};
    case ConstantType::f64: {
      const std::uint64_t f64 = f64_constant(code);
      return {static_cast<std::uint32_t>(f64), static_cast<std::uint32_t>(f64 >> 32)};
    }
    // gfx9 gives an operand of a 16-bit integer the f32, whose low half is what counts; later ones the f16 (AMD's
    // account of the hardware in LLVM's pull request 198005).
    case ConstantType::integer: return {is_cdna(form.arch) ? f32 : f16};
    default: return {f32};
  }
}

Bits bits_of_literal(const VopForm& form, const VopSource& source, std::uint32_t literal) {
  if (source.in.dwords == 1) return {literal};
  // CDNA4 6.2.1.1, RDNA3 7.2.2.2: zeros below a float, zeros or the sign above an integer.
  const bool is_signed = form.has("i64");
  if (form.has("f64")) return {0, literal};
  return {literal, is_signed && literal >> 31 != 0 ? 0xffffffff : 0};
}

}  // namespace rapt::sim::test
