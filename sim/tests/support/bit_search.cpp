#include "sim/tests/support/bit_search.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace rapt::sim::test {
namespace {

constexpr unsigned samples = 250, most_bases = 8;
constexpr unsigned passes_until_refused = 8;  // a bit that was refused in so many is not tried again
// Behind those passes, where few bits are left, a form has so many attempts a pass, each with another base.
constexpr unsigned attempts_later = 12, scalar_attempts_later = 60, samples_later = 100;

// v_fmaak and the like always have a literal; else a literal, SDWA or DPP word is the layout's own.
bool fits(const Instruction& i, const Layout& layout) {
  const LaneMap map = i.lane_map;
  switch (layout.suffix) {
    case Suffix::none: return map == LaneMap::none && i.size >= 4 * layout.dwords;
    case Suffix::sdwa: return map == LaneMap::sdwa;
    case Suffix::dpp16: return map == LaneMap::dpp16;
    case Suffix::dpp8:
    case Suffix::dpp8_fi: return map == LaneMap::dpp8;
    case Suffix::literal: break;
  }
  const auto literal = [](const Instruction& half) {
    return std::any_of(half.src.begin(), half.src.end(), [](const Operand& o) { return o.literal; });
  };
  return map == LaneMap::none && i.size >= 4 * layout.dwords && (literal(i) || (i.dual && literal(*i.dual)));
}

std::uint64_t form_key(const Instruction& i, const Words& words, const Layout& layout) {
  return operands_in_use(i) << 8 | layout.form(words);
}

bool is_row(const Instruction& i, const Opcode& row) { return i.opcode == &row || (i.dual && i.dual->opcode == &row); }

bool same_opcode(const Instruction& a, const Instruction& b) {
  return a.opcode == b.opcode && (!a.dual || a.dual->opcode == b.dual->opcode);
}

// Those that run only to end the kernel.
bool ends_kernel(const Opcode& row) { return row.name == "s_trap" || row.name == "s_sendmsghalt"; }

}  // namespace

std::uint64_t operands_in_use(const Instruction& i) {
  std::uint64_t key = i.size << 2 | static_cast<unsigned>(i.lane_map);
  const auto add = [&key](bool bit) { key = key << 1 | static_cast<std::uint64_t>(bit); };
  add(i.dst.kind != OperandKind::none), add(i.dst2.kind != OperandKind::none);
  for (const Operand& o : i.src) add(o.kind != OperandKind::none);
  add(i.offen), add(i.idxen), add(i.lds), add(i.tfe);
  return key;
}

BitSearch::BitSearch(Target target) : target_(target), mode_{target.arch, target.lanes}, trial_(target) {
  for (const Opcode& row : opcodes(target.arch)) {
    const bool vopd_in_64 = row.format == Format::vopd && target.lanes == 64;
    if (row.format != Format::unsupported && !vopd_in_64) collect(row);
  }
}

void BitSearch::collect(const Opcode& row) {
  for (Layout& made : layouts(target_.arch, row)) {
    const Layout& layout = layouts_.emplace_back(std::move(made));
    std::map<std::uint64_t, std::size_t> found;
    for (unsigned n = 0; n < samples; ++n) {
      const Words words = random_words(layout, target_.arch, random_);
      const auto i = decode(mode_, words);
      if (!i || !is_row(*i, row) || !fits(*i, layout)) continue;
      const auto [at, fresh] = found.try_emplace(form_key(*i, words, layout), forms_.size());
      if (fresh) {
        Form form{&row, &layout, at->first, {}, std::vector<Outcome>(8U * i->size), {}};
        for (unsigned bit = 0; bit < 8U * i->size; ++bit) {
          form.hints.push_back(find_hint({target_.arch, target_.lanes, layout, words, *i}, bit));
          form.pending.push_back(static_cast<std::uint8_t>(bit));
        }
        forms_.push_back(std::move(form));
      }
      if (Form& form = forms_[at->second]; form.bases.size() < most_bases) form.bases.push_back(words);
    }
  }
}

void BitSearch::run(unsigned passes, unsigned hint_passes) {
  for (unsigned pass = 0; pass < passes; ++pass) {
    trial_.renew(random_);
    for (Form& form : forms_) {
      const bool late = pass >= passes_until_refused, scalar = form.row->format <= Format::smem;
      for (unsigned n = 0; n < (!late    ? 4
                                : scalar ? scalar_attempts_later
                                         : attempts_later) &&
                           !form.pending.empty();
           ++n) {
        const bool ran = try_base(form, late ? another_base(form) : form.bases[(pass + n) % form.bases.size()]);
        drop_settled(form, pass + 1, hint_passes);
        if (ran && !late) break;
      }
    }
  }
}

void BitSearch::drop_settled(Form& form, unsigned passes, unsigned hint_passes) {
  std::erase_if(form.pending, [&](unsigned bit) {
    const Outcome outcome = form.bits[bit];
    if (outcome == Outcome::effect) return true;
    if (form.hints[bit] != nullptr) return passes >= hint_passes;
    return (outcome == Outcome::refused || outcome == Outcome::other) && passes >= passes_until_refused;
  });
}

Words BitSearch::another_base(const Form& form) {
  for (unsigned n = 0; n < samples_later; ++n) {
    const Words words = random_words(*form.layout, target_.arch, random_);
    const auto i = decode(mode_, words);
    if (i && is_row(*i, *form.row) && fits(*i, *form.layout) && form_key(*i, words, *form.layout) == form.key)
      return words;
  }
  return form.bases[random_() % form.bases.size()];
}

// False where it cannot run.
bool BitSearch::try_base(Form& form, const Words& base) {
  using enum InstructionTrial::Ended;
  const auto instruction = decode(mode_, base);
  for (;;) {
    trial_.look_everywhere(form.everywhere);
    const auto ended = trial_.begin(*instruction, random_);
    const bool runs = ended == normally || (ended == with_fault && ends_kernel(*form.row));
    std::vector<Outcome> bits = form.bits;
    for (const std::uint8_t bit : form.pending) {
      if (!runs) break;
      Words flipped = base;
      flipped[bit / 32] ^= 1U << bit % 32;
      bits[bit] = std::max(bits[bit], outcome_of(*instruction, flipped));
    }
    if (trial_.end()) {
      form.ran = form.ran || runs;
      form.bits = std::move(bits);
      return runs;
    }
    form.everywhere = true;  // once more
  }
}

Outcome BitSearch::outcome_of(const Instruction& base, const Words& flipped) {
  const auto variant = decode(mode_, flipped);
  if (!variant) return Outcome::refused;
  if (!same_opcode(*variant, base) || variant->size != base.size) return Outcome::other;
  const InstructionTrial::Variant result = trial_.compare(*variant);
  if (result.ended == InstructionTrial::Ended::refused) return Outcome::refused;
  return result.differs ? Outcome::effect : Outcome::idle;
}

std::string BitSearch::describe(const Form& form) const {
  const Words& words = form.bases.front();
  const auto i = decode(mode_, words);
  std::string text = print(mode_, *i) + " (";
  for (unsigned n = 0; n < i->size / 4U; ++n) {
    char word[12];
    std::snprintf(word, sizeof word, n == 0 ? "%08x" : " %08x", words[n]);
    text += word;
  }
  return text + ")";
}

}  // namespace rapt::sim::test
