#include "sim/tests/support/bits/search.hpp"

#include "sim/tests/support/instructions/any_instruction.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace rapt::sim::test {
namespace {

constexpr unsigned samples = 40, most_samples = 3000, most_bases = 8;
constexpr unsigned passes_until_refused = 6;  // a bit that was refused in this many is not tried again
constexpr unsigned trials_watched = 3;        // for writes that effects() does not name
constexpr unsigned samples_later = 100;

// Whether the words are of this layout. v_fmaak and the like always have a literal; else a literal, SDWA or DPP word is
// the layout's own.
bool fits(const Instruction& i, const Layout& layout, const Opcode& row) {
  const Format format = row.format;
  const bool short_form = format == Format::vop1 || format == Format::vop2 || format == Format::vopc;
  if (short_form && i.e64 != layout.name.starts_with("VOP3")) return false;
  const bool as_y = layout.name.starts_with("VOPD Y");
  if (as_y ? !i.dual || i.dual->opcode != &row : i.opcode != &row) return false;
  if (i.size < 4 * layout.dwords) return false;
  const auto literal = [](const Instruction& half) {
    return std::any_of(half.src.begin(), half.src.end(), [](const Operand& o) { return o.literal; });
  };
  switch (layout.suffix) {
    case Suffix::none: return i.lane_map == LaneMap::none;
    case Suffix::sdwa: return i.lane_map == LaneMap::sdwa;
    case Suffix::dpp16: return i.lane_map == LaneMap::dpp16;
    case Suffix::dpp8:
    case Suffix::dpp8_fi: return i.lane_map == LaneMap::dpp8 && i.fetch_inactive == (layout.suffix == Suffix::dpp8_fi);
    case Suffix::literal: return i.lane_map == LaneMap::none && (literal(i) || (i.dual && literal(*i.dual)));
  }
  return false;
}

std::uint64_t form_key(const Instruction& i, const Words& words, const Layout& layout) {
  return operands_in_use(i) << 8 | layout.form(words);
}

bool same_opcode(const Instruction& a, const Instruction& b) {
  return a.opcode == b.opcode && (!a.dual || a.dual->opcode == b.dual->opcode);
}

// After the first passes, when few bits are left: a form's attempts per pass, each with another base.
unsigned attempts_later(const Form& form) {
  const bool hints_alone =
      std::all_of(form.pending.begin(), form.pending.end(), [&](unsigned bit) { return form.hints[bit] != nullptr; });
  if (hints_alone) return 1;
  return form.row->format <= Format::smem ? 60 : 12;  // few words of scalar ones are legal, and they are fast
}

// Operations that only end the kernel.
bool ends_kernel(const Opcode& row) { return row.name == "s_trap" || row.name == "s_sendmsghalt"; }

}  // namespace

bool writes_by_m0(const Opcode& row) { return row.name.starts_with("v_movrel") || row.name.starts_with("v_swaprel"); }

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

// At least `samples` words, and enough to cover all known forms of the row.
void BitSearch::collect(const Opcode& row) {
  std::vector<Instruction> known;
  for (const Encoding& e : encodings(mode_, row)) known.push_back(*e.decode());
  for (Layout& made : layouts(target_.arch, row)) {
    const Layout& layout = layouts_.emplace_back(std::move(made));
    std::set<std::uint64_t> missing;
    for (const Instruction& i : known)
      if (fits(i, layout, row)) missing.insert(operands_in_use(i));
    std::map<std::uint64_t, std::size_t> found;
    for (unsigned n = 0; n < samples || (n < most_samples && !missing.empty()); ++n) {
      const Words words = random_words(layout, target_.arch, random_);
      const auto i = decode(mode_, words);
      if (!i || !fits(*i, layout, row)) continue;
      missing.erase(operands_in_use(*i));
      const std::uint64_t key = form_key(*i, words, layout);
      const auto [at, fresh] = found.try_emplace(key, forms_.size());
      if (fresh) forms_.push_back(make_form(row, layout, key, *i, words));
      if (Form& form = forms_[at->second]; form.bases.size() < most_bases) form.bases.push_back(words);
    }
  }
}

Form BitSearch::make_form(const Opcode& row, const Layout& layout, std::uint64_t key, const Instruction& i,
                          const Words& words) const {
  Form form{&row, &layout, key, {}, std::vector<Outcome>(8U * i.size), {}};
  form.everywhere = writes_by_m0(row);
  form.hints = find_hints({target_.arch, target_.lanes, layout, words, i});
  for (unsigned bit = 0; bit < 8U * i.size; ++bit) form.pending.push_back(static_cast<std::uint8_t>(bit));
  return form;
}

void BitSearch::run(unsigned passes, unsigned hint_passes) {
  for (unsigned pass = 0; pass < passes; ++pass) {
    trial_.renew(random_);
    const bool late = pass >= passes_until_refused;
    for (Form& form : forms_) {
      const unsigned attempts = late ? attempts_later(form) : 4;
      for (unsigned n = 0; n < attempts && !form.pending.empty(); ++n) {
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

// Legal words are easier to find near others; the form keeps the new ones, so the search moves on.
Words BitSearch::another_base(Form& form) {
  Words& kept = form.bases[random_() % form.bases.size()];
  for (unsigned n = 0; n < samples_later; ++n) {
    const std::string_view field = form.layout->place(form.pending[random_() % form.pending.size()]).field;
    const Words words = random_() % 4 == 0 ? random_words(*form.layout, target_.arch, random_)
                                           : other_words(*form.layout, target_.arch, kept, field, random_);
    const auto i = decode(mode_, words);
    if (i && fits(*i, *form.layout, *form.row) && form_key(*i, words, *form.layout) == form.key) return kept = words;
  }
  return kept;
}

// False if it cannot run.
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
    if (trial_.end(form.trials++ < trials_watched)) {
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
