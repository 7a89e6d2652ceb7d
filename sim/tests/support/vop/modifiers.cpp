#include "sim/tests/support/vop/modifiers.hpp"

namespace rapt::sim::test {
namespace {

// VOP3SD: the second destination takes the place of abs and op_sel.
bool has_second_result(const VopForm& form) { return form.opcode->dst2 == Type::mask; }

// `toggled`: bits of op_sel_hi that differ from the plain form's.
Modifiers with_op_sel_hi(const VopForm& form, unsigned toggled) {
  Modifiers m = plain_modifiers(form);
  m.op_sel_hi ^= toggled;
  return m;
}

std::string list(std::string_view title, unsigned bits) {
  if (bits == 0) return "";
  std::string out = " " + std::string(title) + ":";
  for (unsigned k = 0; k < 4; ++k)
    if ((bits >> k & 1) != 0) out += std::to_string(k);
  return out;
}

}  // namespace

Modifiers operator|(const Modifiers& a, const Modifiers& b) {
  return {a.neg | b.neg, a.abs | b.abs, a.op_sel | b.op_sel, a.op_sel_hi, a.omod | b.omod, a.clamp || b.clamp};
}

std::string name_of(const VopForm& form, const Modifiers& m) {
  const unsigned plain_hi = plain_modifiers(form).op_sel_hi;
  return list("neg", m.neg) + list(form.is_vop3p() ? "neg_hi" : "abs", m.abs) + list("op_sel", m.op_sel) +
         list("toggled op_sel_hi", m.op_sel_hi ^ plain_hi) + (m.omod != 0 ? " omod " + std::to_string(m.omod) : "") +
         (m.clamp ? " clamp" : "");
}

Modifiers plain_modifiers(const VopForm& form) {
  Modifiers m;
  if (form.is_vop3p()) m.op_sel_hi = form.op_sel_hi();
  return m;
}

Sample with_modifiers(const VopForm& form, Sample words, const Modifiers& m) {
  words[0] |= m.abs << 8 | m.op_sel << 11 | (m.clamp ? 1U << 15 : 0);
  words[1] |= m.neg << 29;
  if (form.is_vop3p()) {
    words[0] = (words[0] & ~(1U << 14)) | (m.op_sel_hi >> 2 & 1) << 14;
    words[1] = (words[1] & ~(3U << 27)) | (m.op_sel_hi & 3) << 27;
  } else {
    words[1] |= m.omod << 27;
  }
  return words;
}

std::vector<Modifiers> single_modifiers(const VopForm& form) {
  std::vector<Modifiers> all;
  const bool packed = form.is_vop3p(), no_abs = has_second_result(form);
  for (unsigned k = 0; k < 3; ++k) all.push_back(plain_modifiers(form) | Modifiers{.neg = 1U << k});
  for (unsigned k = 0; k < 3 && !no_abs; ++k) all.push_back(plain_modifiers(form) | Modifiers{.abs = 1U << k});
  for (unsigned k = 0; k < (packed ? 3U : 4U) && !no_abs; ++k)
    all.push_back(plain_modifiers(form) | Modifiers{.op_sel = 1U << k});
  all.push_back(plain_modifiers(form) | Modifiers{.clamp = true});
  for (unsigned k = 0; k < 3 && packed; ++k) all.push_back(with_op_sel_hi(form, 1U << k));
  for (unsigned omod = 1; omod < 4 && !packed; ++omod) all.push_back(Modifiers{.omod = omod});
  return all;
}

std::vector<std::vector<Known>> known_modifiers(Arch arch, const std::vector<VopForm>& forms) {
  std::vector<Sample> samples;
  for (const VopForm& form : forms)
    for (const Modifiers& m : single_modifiers(form)) samples.push_back(with_modifiers(form, form.words, m));
  const std::vector<Disassembled> llvm = disassemble(arch, default_lanes(arch), samples);
  std::vector<std::vector<Known>> known;
  std::size_t next = 0;
  for (const VopForm& form : forms) {
    known.emplace_back();
    for (std::size_t n = single_modifiers(form).size(); n > 0; --n) {
      const std::string& text = llvm[next++].text;
      known.back().push_back(text.empty() ? Known::refused : text == form.text ? Known::ignored : Known::taken);
    }
  }
  return known;
}

}  // namespace rapt::sim::test
