#include "sim/tests/support/instructions/rdna_words.hpp"

#include "sim/isa/decode.hpp"

#include <algorithm>
#include <random>
#include <regex>

namespace rapt::sim::test {
namespace {

enum class Shape : std::uint8_t { scalar, smem, vop_short, vop3, vopd, ds, memory };

struct Encoding {
  std::uint32_t base;
  unsigned op_shift, op_bits;
  std::uint32_t free;  // bits of the first word that are neither base nor opcode
  Shape shape;
  ArchSet archs = rdna;
};

constexpr Encoding encodings[] = {
    {0x80000000, 23, 7, 0x007fffff, Shape::scalar},          // SOP2, and in its high opcodes the other scalar ones
    {0xb0000000, 23, 5, 0x007fffff, Shape::scalar},          // SOPK
    {0xbe800000, 8, 8, 0x007f00ff, Shape::scalar},           // SOP1
    {0xbf000000, 16, 7, 0x0000ffff, Shape::scalar},          // SOPC
    {0xbf800000, 16, 7, 0x0000ffff, Shape::scalar},          // SOPP
    {0xf4000000, 18, 8, 0x0003ffff, Shape::smem, gfx11},     // SMEM
    {0xf4000000, 13, 6, 0x03f81fff, Shape::smem, gfx12},     // ...
    {0x00000000, 25, 6, 0x01ffffff, Shape::vop_short},       // VOP2
    {0x7e000000, 9, 8, 0x01fe01ff, Shape::vop_short},        // VOP1
    {0x7c000000, 17, 8, 0x0001ffff, Shape::vop_short},       // VOPC
    {0xd4000000, 16, 10, 0x0000ffff, Shape::vop3},           // VOP3
    {0xcc000000, 16, 8, 0x0000ffff, Shape::vop3},            // VOP3P
    {0xc8000000, 17, 9, 0x0001ffff, Shape::vopd},            // VOPD
    {0xcd000000, 16, 7, 0x0080ffff, Shape::vop3},            // VINTERP
    {0xce000000, 20, 2, 0x00cfffff, Shape::scalar},          // LDSDIR
    {0xd8000000, 18, 8, 0x0003ffff, Shape::ds},              // DS
    {0xdc000000, 16, 10, 0x0000ffff, Shape::memory, gfx11},  // FLAT, GLOBAL, SCRATCH
    {0xe0000000, 18, 8, 0x0003ffff, Shape::memory, gfx11},   // MUBUF
    {0xe8000000, 15, 4, 0x03f87fff, Shape::memory, gfx11},   // MTBUF
    {0xf0000000, 18, 8, 0x0003ffff, Shape::memory, gfx11},   // MIMG
    {0xec000000, 14, 8, 0x00c03fff, Shape::memory, gfx12},   // VFLAT
    {0xed000000, 14, 8, 0x00c03fff, Shape::memory, gfx12},   // VSCRATCH
    {0xee000000, 14, 8, 0x00c03fff, Shape::memory, gfx12},   // VGLOBAL
    {0xc4000000, 14, 8, 0x03c03fff, Shape::memory, gfx12},   // VBUFFER
    {0xd0000000, 14, 8, 0x03c03fff, Shape::memory, gfx12},   // VIMAGE
    {0xe4000000, 14, 8, 0x03c03fff, Shape::memory, gfx12},   // VSAMPLE
    {0xf8000000, 0, 0, 0x03ffffff, Shape::memory},           // EXP
};

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::uint32_t word() { return static_cast<std::uint32_t>(engine_() >> 16); }
  bool one_in(unsigned n) { return word() % n == 0; }
  std::uint32_t one_of(std::initializer_list<std::uint32_t> values) { return values.begin()[word() % values.size()]; }

  // Random bits, often with whole fields clear, because unused ones must be.
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

void put(std::uint32_t& word, unsigned shift, std::uint32_t mask, std::uint32_t value) {
  word = (word & ~(mask << shift)) | (value & mask) << shift;
}

// A literal, DPP16, both forms of DPP8, or what is already there.
void maybe_special_source(Random& random, std::uint32_t& word) {
  if (random.one_in(3)) put(word, 0, 0x1ff, random.one_of({255, 250, 250, 233, 234}));
}

std::uint32_t dpp_word(Random& random) {
  std::uint32_t out = random.word();
  // Mostly a valid control: quad_perm, row_shl, row_shr, row_ror, mirrors, row_share, row_xmask.
  if (random.one_in(2)) put(out, 8, 0x1f0, random.one_of({0, 0x50, 0xf0, 0x100, 0x110, 0x120, 0x140, 0x150, 0x160}));
  if (random.one_in(2)) out &= 0xff0fffff;
  return out;
}

void shape_vop3(Random& random, Sample& s) {
  s[1] = random.sparse({0x1fffffff, 0x07ffffff, 0x0003ffff, 0x000001ff});
  if (random.one_in(3)) s[1] |= 0x04020100;  // VGPRs
  if (random.one_in(4)) s[1] |= 0x00020100;
  maybe_special_source(random, s[1]);
  if (random.one_in(2)) {  // no modifiers: VGPRs, or scalars
    s[0] &= 0xffff00ff;
    s[0] |= random.one_in(2) ? 0x4000 : 0;
    switch (random.word() % 4) {
      case 0: s[1] = (random.word() & 0x03fdfeff) | 0x1c020100; break;  // three VGPRs, op_sel_hi
      case 1: s[1] = (random.word() & 0x0080c0ff) | 0x00000100; break;  // a VGPR and scalars
      case 2:
        s[1] = random.word() & (random.one_in(2) ? 0x0000007f : 0x0000c07f);
        s[0] &= 0xffffff3f;
        break;  // a scalar, to a scalar
      default: s[1] = (random.word() & 0x07ffffff) | (random.one_in(2) ? 0x04020100 : 0); break;
    }
  }
  if (random.one_in(2)) s[0] &= 0xffffe0ff;
  if (random.one_in(2)) s[0] &= 0xffff1fff;
  if (random.one_in(3)) s[0] |= 0x00004000;  // op_sel_hi of VOP3P
  if (random.one_in(3)) put(s[1], 27, 3, 3);
  if (random.one_in(8)) put(s[0], 0, 0xff, 0x7e);  // v_cmpx's destination
}

void shape_memory(Random& random, Sample& s) {
  if (random.one_in(2)) put(s[1], 16, 0x7f, 0x7c);
  if (random.one_in(2)) s[1] &= 0xff7fffff;
  if (random.one_in(2)) s[1] &= 0xff1fffff;
  if (random.one_in(2)) s[1] &= 0xfffcffff;
  if (random.one_in(3)) put(s[0], 0, 0x7f, 0x7c);
  if (random.one_in(2)) s[2] &= 0x7fffffff;
  if (random.one_in(2)) s[1] &= 0xfffff9ff;  // gfx12's buffer descriptor: four aligned registers
  if (random.one_in(2)) s[0] &= 0xffbfffff;
  if (random.one_in(3)) s[1] = (s[1] & 0x00ffffff) | random.one_of({0, 0x10000000, 0x80000000});
}

void shape_words(Random& random, Shape shape, Sample& s) {
  switch (shape) {
    case Shape::scalar:
      if (random.one_in(4)) put(s[0], 0, 0xff, 255);
      break;
    case Shape::smem:
      if (random.one_in(2)) put(s[1], 25, 0x7f, 0x7c);
      if (random.one_in(2)) s[0] &= 0xfffffffe;
      if (random.one_in(4)) s[1] &= 0xfe000000;  // no offset
      break;
    case Shape::vop_short: maybe_special_source(random, s[0]); break;
    case Shape::vop3: shape_vop3(random, s); break;
    case Shape::vopd:
      maybe_special_source(random, s[0]);
      if (random.one_in(4)) put(s[0], 9, 0xff, 0);
      if (random.one_in(4)) put(s[1], 9, 0xff, 0);
      break;
    case Shape::ds:
      s[1] = random.word() &
             random.one_of({0, 0xff, 0xffff, 0xff0000ff, 0xff00ffff, 0x00ffffff, 0xffffffff, 0xff000000, 0xff00});
      if (!random.one_in(4)) s[0] &= 0xfffdffff;
      if (random.one_in(5)) {
        s[0] &= 0xffff0000;
        s[1] = 0;
      }
      break;
    case Shape::memory: shape_memory(random, s); break;
  }
}

std::vector<std::uint32_t> words_of(const Sample& s) { return {s.begin(), s.end()}; }

bool matches(const std::string& text, const char* expression) {
  return std::regex_search(text, std::regex(expression));
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// A DPP word whose upper bits, taken for a source code, are a constant.
bool reads_dpp_as_constant(const Sample& s) {
  const bool vop3 = s[0] >> 26 == 0x35 || s[0] >> 24 == 0xcc;
  const unsigned source = (vop3 ? s[1] : s[0]) & 0x1ff;
  const std::uint32_t word = vop3 ? s[2] : s[1];
  const std::uint32_t control = source == 250 ? word >> 8 & 0x1ff : word >> 8;
  return (source == 250 || source == 233 || source == 234) && control >= 128 && control < 256;
}

// op_sel bits of sources that an operation on halves does not have: LLVM falls back to a form on whole registers.
bool whole_register_form(Arch arch, const Sample& s, const std::string& text) {
  if (text.empty() || s[0] >> 26 != 0x35 || (s[0] >> 11 & 15) == 0 || matches(text, "v[0-9]+\\.[lh]")) return false;
  Sample plain = s;
  plain[0] &= 0xffff87ff;
  const auto decoded = decode({arch, 32}, words_of(plain));
  return decoded && matches(print({arch, 32}, *decoded), "v[0-9]+\\.l|_(f16|bf16|i16|u16|b16)");
}

}  // namespace

std::vector<Sample> random_rdna_words(Arch arch, unsigned count, unsigned seed) {
  Random random(seed);
  std::vector<Sample> samples;
  // llvm-objdump reads on to the sample's end: the last word is s_nop, not half an instruction.
  const auto add = [&](Sample sample) {
    sample[3] = 0xbf800000;
    if (!crashes_llvm_rdna(sample)) samples.push_back(sample);
  };
  for (const Encoding& encoding : encodings) {
    if (!contains(encoding.archs, arch)) continue;
    for (std::uint32_t code = 0; code < 1U << encoding.op_bits; ++code) {
      for (unsigned i = 0; i < count; ++i) {
        const std::uint32_t low = random.sparse({0xffffff00, 0xffff00ff, 0xfffe01ff, 0xff01fffe}) & encoding.free;
        Sample s{encoding.base | code << encoding.op_shift | low, dpp_word(random), dpp_word(random), random.word()};
        const std::uint32_t fixed = s[0] & ~encoding.free;
        shape_words(random, encoding.shape, s);
        s[0] = (s[0] & encoding.free) | fixed;
        add(s);
      }
    }
  }
  for (unsigned i = 0; i < 100 * count; ++i) add({random.word(), random.word(), random.word(), random.word()});
  // Matrix and dot operations need all operands to be right at once.
  for (std::uint32_t code = 0; code < 128; ++code) {
    for (unsigned i = 0; i < count; ++i) {
      add({0xcc004000 | code << 16 | (random.word() & 0x80ff), (random.word() & 0x03fdfeff) | 0x1c020100,
           dpp_word(random), 0});
    }
  }
  return samples;
}

bool crashes_llvm_rdna(const Sample& s) {
  // llvm-objdump continues after the first instruction: any word may be one.
  return std::any_of(s.begin(), s.end(), [](std::uint32_t word) {
    const std::uint32_t code = word >> 8 & 0xff;
    return word >> 23 == 0x17d && code >= 0x4e && code <= 0x52 && (word & 0xff) == 255;
  });
}

Exception llvm_exception_rdna(Arch arch, const Sample& s, const Disassembled& llvm) {
  const std::string& text = llvm.text;
  const auto refused = [](std::string_view reason) { return Exception{Expect::refused, reason}; };
  const auto either = [](std::string_view reason) { return Exception{Expect::either, reason}; };
  if (contains(llvm.raw, "s_delay_alu")) return either("a delay that is none is shown with a comment");
  if (contains(text, "scale_offset")) return refused("gfx1250's scale_offset");
  if (contains(text, "src_flat_scratch_base")) return refused("gfx1250's scratch base");
  if (contains(text, "src_lds_direct") && text.starts_with("s_"))
    return refused("LDS direct reads are not for scalars");
  if (s[0] >> 24 == 0xd3) return either("an encoding of gfx10, on gfx12 also of images");
  if (matches(text, "v(25[6-9]|2[6-9][0-9])\\b|:(25[6-9]|2[6-9][0-9])\\]")) return refused("registers past 255");
  if (matches(text, "^[a-z0-9_]+ src_") &&
      !matches(text, "^v_cmpx|^s_cmp|^s_bitcmp|^s_set|^s_rfe|^s_alloc|^s_sleep|^s_barrier"))
    return refused("a destination that cannot be written");
  if (matches(text, "^v_(add|sub|subrev)_co_ci|^v_cndmask") && s[0] >> 26 == 0x35 && (s[1] >> 18 & 0x1ff) >= 128) {
    return refused("a mask that is no SGPR");
  }
  if (matches(text, "^v_(swap|permlane|readlane|readfirstlane|movrel|wmma|swmmac).*(src_|null|exec|vcc|ttmp|m0)")) {
    return either("a special register where only a VGPR can be");
  }
  if (whole_register_form(arch, s, text) ||
      matches(text, "^v_cvt_(f32|sr)_(fp8|bf8)_.*dpp|^v_cvt_f32_(fp8|bf8)_e64_dpp")) {
    return refused("reserved bits of op_sel");
  }
  const bool dpp = contains(text, "row_mask") || contains(text, "dpp8");
  if (dpp && llvm.words.size() == 4) return refused("a literal next to DPP");
  if (dpp && arch == Arch::gfx1100 && contains(text, "_e64_dpp") && (s[1] >> 9 & 0x1ff) < 256) {
    return either("gfx1100's DPP forms take no scalar as src1, if they have one");
  }
  if (matches(text, "^v_fmac_f(16|32)_e64_dpp [^,]*, [^,]*, .*0x")) return either("an inline constant decoded twice");
  if (reads_dpp_as_constant(s)) return either("the DPP control is decoded as a source");
  if (contains(text, "vcc_lo|") || contains(text, "vcc|")) return either("a modifier's bar on the wrong side");
  if (matches(text, "^[st]?buffer_.*s\\[[0-9:]+\\], 0x") ||
      matches(text, "^t?buffer_[^ ]+ [^ ]+, [^ ]+, [^ ]+, (0x|lit)"))
    return refused("a literal offset of a buffer");
  const unsigned smem_code = s[0] >> 13 & 0x3f, smem_result = s[0] >> 6 & 0x7f;
  if (s[0] >> 26 == 0x3d && arch == Arch::gfx1201 && (smem_code & 0x2f) == 5 && smem_result >= 108) {
    return either("96 bits in ttmp registers");
  }
  return {};
}

}  // namespace rapt::sim::test
