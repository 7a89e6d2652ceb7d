#include "sim/tests/support/instructions/gfx9_words.hpp"

#include <cstdio>
#include <random>

namespace rapt::sim::test {
namespace {

struct Encoding {
  std::uint32_t base;
  unsigned op_shift, op_bits;
  std::uint32_t free;  // bits of the first word that are neither base nor opcode
};

constexpr Encoding encodings[] = {
    {0x80000000, 23, 7, 0x007fffff},   // SOP2, and in its high opcodes SOPK, SOP1, SOPC, SOPP
    {0xb0000000, 23, 5, 0x007fffff},   // SOPK
    {0xbe800000, 8, 8, 0x007f00ff},    // SOP1
    {0xbf000000, 16, 7, 0x0000ffff},   // SOPC
    {0xbf800000, 16, 7, 0x0000ffff},   // SOPP
    {0xc0000000, 18, 8, 0x0003ffff},   // SMEM
    {0x7e000000, 9, 8, 0x01fe01ff},    // VOP1
    {0x7e0000f9, 9, 8, 0x01fe0000},    // VOP1 with SDWA
    {0x7e0000fa, 9, 8, 0x01fe0000},    // VOP1 with DPP
    {0x00000000, 25, 6, 0x01ffffff},   // VOP2
    {0x000000f9, 25, 6, 0x01fffe00},   // VOP2 with SDWA
    {0x000000fa, 25, 6, 0x01fffe00},   // VOP2 with DPP
    {0x7c000000, 17, 8, 0x0001ffff},   // VOPC
    {0x7c0000f9, 17, 8, 0x0001fe00},   // VOPC with SDWA
    {0xd0000000, 16, 10, 0x0000ffff},  // VOP3 and VOP3P
    {0xd8000000, 17, 8, 0x0201ffff},   // DS
    {0xdc000000, 18, 7, 0x02033fff},   // FLAT
    {0xdc004000, 18, 7, 0x02033fff},   // SCRATCH
    {0xdc008000, 18, 7, 0x02033fff},   // GLOBAL
    {0xe0000000, 18, 7, 0x0203ffff},   // MUBUF
    {0xe8000000, 15, 4, 0x03ff7fff},   // MTBUF
    {0xd4000000, 16, 2, 0x03fcffff},   // VINTRP
    {0xc4000000, 0, 0, 0x00001fff},    // EXP
    {0xf0000000, 18, 7, 0x0203ffff},   // MIMG
};

constexpr std::uint32_t nop = 0xbf800000;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_() >> 16); }
  bool one_in(unsigned n) { return word() % n == 0; }

  // Random bits, often with whole fields clear: unused ones must be, and small register numbers are more likely.
  std::uint32_t sparse(std::initializer_list<std::uint32_t> masks) {
    std::uint32_t out = word();
    for (const std::uint32_t mask : masks) {
      if (one_in(3)) out &= mask;
    }
    return one_in(3) ? out & word() : out;
  }

 private:
  std::mt19937_64 engine_;
};

std::uint32_t second_word(Random& random) {
  std::uint32_t out =
      random.sparse({0x1fffffff, 0x00ffffff, 0x0000ffff, 0xff00ffff, 0xff7fffff, 0xfefefefe, 0xff0000ff});
  if (random.one_in(3)) out |= 0x04020100;                      // sources of VOP3 are VGPRs
  if (random.one_in(3)) out &= 0xfffbfdfe;                      // ... even ones
  if (random.one_in(8)) out |= 0x007f0000;                      // no scalar address
  if (random.one_in(6)) out = (out & 0xf8f8f8ff) | 0x06060600;  // SDWA of whole registers
  return out;
}

// Literals that are an inline constant of some type.
constexpr std::uint32_t literals[] = {0, 0x40, 0x10005, 0x3c00, 0x3f80, 0x3f800000, 0x3ff00000, 0xffffffff};

// Operands that most operations take: none, VGPRs, one VGPR with scalars, only a destination, whole SDWA registers.
constexpr std::uint32_t plain_second_words[] = {0, 0x04020100, 0x00000100, 0x02000000, 0x06060600};

// gfx950's matrix operations with scales: 16 bytes.
Sample scaled(Random& random) {
  const std::uint32_t code = random.one_in(2) ? 0xd3ad0000 : 0xd3ae0000;
  return {0xd3ac0000 | (random.sparse({0xffff00ff, 0xffffff00}) & 0xffff),
          random.sparse({0x1803ffff, 0xe7ffffff}) | 0x00020100, code | 0x0800 | (random.sparse({0xf8fe}) & 0x87fe),
          (random.sparse({0x1fffffff}) | 0x04020100) & 0xfffbfdfe};
}

unsigned vop_source0(const Sample& s) { return s[0] & 0x1ff; }
bool is_vop(const Sample& s) { return s[0] >> 31 == 0; }
bool is_sdwa(const Sample& s) { return is_vop(s) && vop_source0(s) == 0xf9; }
bool is_f8f6f4(std::uint32_t word) { return word >> 16 == 0xd3ad || word >> 16 == 0xd3ae; }

bool has_mandatory_literal(const Sample& s) {
  const unsigned code = s[0] >> 25;
  return code == 0x17 || code == 0x18 || code == 0x24 || code == 0x25;
}

bool operand_is_literal(const Sample& s) {
  const unsigned format = s[0] >> 26;
  const bool scalar_result = s[0] >> 24 == 0xd0 || s[0] >> 16 == 0xd289;  // a comparison's, v_readlane_b32's
  if (scalar_result && (s[0] & 0xff) == 255) return true;
  if (format == 0x34) return (s[1] & 0x1ff) == 255 || (s[1] >> 9 & 0x1ff) == 255 || (s[1] >> 18 & 0x1ff) == 255;
  return (format == 0x38 || format == 0x3a) && s[1] >> 24 == 255;
}

bool scalar_inputs(std::uint32_t word) { return (word & 0x100) == 0 || (word >> 9 & 0x100) == 0; }

// Any register tuple in the text that ends past 255, or begins at an odd number.
struct Tuples {
  bool past_end = false, odd = false;
};
Tuples tuples(std::string_view text) {
  Tuples out;
  for (std::size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
    if (at == 0 || (text[at - 1] != 'v' && text[at - 1] != 'a')) continue;
    unsigned first = 0, last = 0;
    if (std::sscanf(std::string(text.substr(at, 12)).c_str(), "[%u:%u]", &first, &last) != 2) continue;
    out.past_end = out.past_end || last > 255;
    out.odd = out.odd || first % 2 != 0;
  }
  return out;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

bool starts_with_any(std::string_view text, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (text.starts_with(name)) return true;
  }
  return false;
}

// Add, minimum and maximum of gfx942's FLAT and GLOBAL that return the old value.
bool returns_float_to_agprs(Arch arch, const Sample& s) {
  const unsigned code = s[0] >> 18 & 0x7f;
  const bool float_atomic = s[0] >> 26 == 0x37 && code >= 0x4d && code <= 0x51;
  const bool returns = (s[0] >> 16 & 1) != 0, agprs = (s[1] >> 23 & 1) != 0;
  return (arch == Arch::gfx942 || arch == Arch::gfx950) && float_atomic && returns && agprs;
}

// LLVM looks for eight registers first.
bool ends_early(std::uint32_t first, std::uint32_t second) {
  return is_f8f6f4(first) && ((second & 0xff) > 248 || (second >> 9 & 0xff) > 248);
}

bool reserved_f8f6f4_format(std::string_view text) {
  for (const std::string_view format : {"cbsz:5", "cbsz:6", "cbsz:7", "blgp:5", "blgp:6", "blgp:7"}) {
    if (contains(text, format)) return true;
  }
  return false;
}

}  // namespace

std::vector<Sample> random_gfx9_words(unsigned count, unsigned seed) {
  Random random(seed);
  std::vector<Sample> samples;
  const auto add = [&](const Sample& s) {
    // llvm-objdump decodes the later words too if the first is short or not an instruction.
    const bool crashes = crashes_llvm(s) || crashes_llvm({s[1], s[2], s[3], nop}) ||
                         crashes_llvm({s[2], s[3], nop, nop}) || crashes_llvm({s[3], nop, nop, nop});
    if (!crashes) samples.push_back(s);
  };
  for (const Encoding& encoding : encodings) {
    for (std::uint32_t code = 0; code < 1U << encoding.op_bits; ++code) {
      const std::uint32_t first = encoding.base | code << encoding.op_shift;
      for (const std::uint32_t low : {0x0U, 0x102U & encoding.free}) {
        for (const std::uint32_t second : plain_second_words) add({first | low, second, nop, nop});
      }
      for (const std::uint32_t literal : literals) add({first | (0xffU & encoding.free), literal, nop, nop});
      for (unsigned i = 0; i < count; ++i) {
        const std::uint32_t low = random.sparse({0xffffff00, 0xffff00ff, 0xfffe80ff, 0xff01fffe}) & encoding.free;
        add({first | low, second_word(random), nop, nop});
      }
    }
  }
  for (unsigned i = 0; i < 100 * count; ++i) add(scaled(random));
  for (unsigned i = 0; i < 100 * count; ++i) add({random.word(), random.word(), nop, nop});
  return samples;
}

bool crashes_llvm(const Sample& s) {
  if (is_sdwa(s)) {
    for (const unsigned select : {s[1] >> 8, s[1] >> 16, s[1] >> 24}) {
      if ((select & 7) == 7) return true;
    }
  }
  if (is_vop(s) && has_mandatory_literal(s) && s[1] == 255) return true;
  if (operand_is_literal(s)) return true;
  const bool behind_prefix = s[0] >> 16 == 0xd3ac && is_f8f6f4(s[2]);
  return (is_f8f6f4(s[0]) && scalar_inputs(s[1])) || (behind_prefix && scalar_inputs(s[3]));
}

Exception llvm_exception(Arch arch, const Sample& s, const Disassembled& llvm) {
  const std::string& text = llvm.text;
  // LLVM decodes words that are reserved or absent in the ISA documents: the simulator refuses them.
  const auto refused = [](std::string_view reason) { return Exception{Expect::refused, reason}; };
  if (contains(text, "null") && !text.starts_with("exp")) return refused("code 125 is reserved on gfx9");
  if (contains(text, "src_flat_scratch_base")) return refused("codes 230 and 231 are reserved on gfx9");
  if (tuples(text).past_end) return refused("registers past 255");
  const bool before_90a = sim::contains(before_gfx90a, arch);
  if (!before_90a && tuples(text).odd) return refused("tuples begin at an even register since gfx90a");
  if (starts_with_any(text, {"v_cmp", "v_read"}) && text.find(" src_") == text.find(' ')) {
    return refused("a scalar result in a register that cannot be written");
  }
  if (starts_with_any(text, {"v_cndmask_b32_e64", "v_addc", "v_subb"}) &&
      (contains(text.substr(text.rfind(',')), "v[") || contains(text.substr(text.rfind(',')), "src_"))) {
    return refused("a carry in that is no SGPR pair");
  }
  const bool first_is_special = text.find(", src_") != text.npos && text.find(", src_") == text.find(", ");
  const bool matrix = starts_with_any(text, {"v_mfma_f", "v_mfma_i", "v_mfma_scale", "v_smfmac"});
  if ((matrix && contains(text, "src_")) ||
      (first_is_special &&
       starts_with_any(text, {"v_swap", "v_permlane", "v_readlane", "v_readfirstlane", "v_accvgpr_read",
                              "v_accvgpr_mov", "v_cvt_scalef32_sr_pk_fp4_f32"}))) {
    return refused("a special register where only a VGPR can be");
  }
  if (contains(text, "dst_unused") && (s[1] >> 11 & 3) == 3) {
    return refused("dst_unused of 3 is reserved");
  }
  if (is_sdwa(s) && contains(text, "lds_direct")) return refused("LDS direct reads are not for SDWA");
  if (before_90a && contains(text, " a") &&
      starts_with_any(text, {"flat_", "global_", "scratch_", "ds_", "buffer_", "tbuffer_"})) {
    return refused("no AGPRs in memory instructions before gfx90a");
  }
  if (contains(text, "f8f6f4") && reserved_f8f6f4_format(text)) return refused("formats 5 to 7 are reserved");
  if (starts_with_any(text, {"v_nop", "v_clrexcp"}) && is_vop(s) && vop_source0(s) >= 249) {
    const unsigned code = vop_source0(s);
    if (code == 249 || code == 250 || code == 255) return refused("a second word that belongs to nothing");
  }
  // LLVM has no such form, or reads another: the simulator decodes it.
  const auto decoded = [](std::string_view reason) { return Exception{Expect::decoded, reason}; };
  if (is_vop(s) && has_mandatory_literal(s) && !text.empty() && s[1] >= 128 && s[1] < 255) {
    return decoded("the literal is taken for a source code");
  }
  if (text.empty() && returns_float_to_agprs(arch, s)) {
    return {Expect::either, "no forms of float atomics that return to AGPRs"};
  }
  if (text.empty() && arch == Arch::gfx950 && s[0] >> 16 == 0xd268 && (s[0] & 0x2000) != 0) {
    return {Expect::either, "bit 13 of v_cvt_pk_bf16_f32 does not matter"};
  }
  if (text.empty() && arch == Arch::gfx950 && (ends_early(s[0], s[1]) || ends_early(s[2], s[3]))) {
    return {Expect::either, "six registers, or four, at the end of the file"};
  }
  if (text.starts_with("v_mfma_ld_scale") && is_f8f6f4(s[2])) {
    return {Expect::either, "the prefix of an operation that is none is no instruction"};
  }
  return {};
}

}  // namespace rapt::sim::test
