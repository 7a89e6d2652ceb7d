#include "sim/tests/support/bits/hints.hpp"

#include <algorithm>
#include <string>

#include <fnmatch.h>

namespace rapt::sim::test {
namespace {

bool matches(std::string_view patterns, std::string_view name) {
  const std::string text(name);
  while (!patterns.empty()) {
    const std::size_t end = std::min(patterns.find('|'), patterns.size());
    if (fnmatch(std::string(patterns.substr(0, end)).c_str(), text.c_str(), 0) == 0) return true;
    patterns.remove_prefix(std::min(end + 1, patterns.size()));
  }
  return false;
}

bool of_form(const Hint& hint, const FormOf& form) {
  return contains(hint.archs, form.arch) && matches(hint.layouts, form.layout.name) &&
         matches(hint.rows, form.row().name);
}

bool says(const Hint& hint, const FormOf& form, Layout::Place place) {
  return place.bit >= hint.first && place.bit <= hint.last && matches(hint.fields, place.field) &&
         (hint.when == nullptr || hint.when(form, place.bit));
}

}  // namespace

bool FormOf::on(std::string_view name) const {
  for (const BitField& field : layout.fields)
    if (field.name == name) return (words[field.low / 32] >> field.low % 32 & ((1U << field.bits) - 1)) != 0;
  return false;
}

unsigned FormOf::sources() const {
  unsigned count = 0;
  while (count < 3 && row().src[count] != Type::none) ++count;
  return count == 3 && (row().traits & trait::reads_dst) != 0 ? 2 : count;
}

std::vector<const Hint*> find_hints(const FormOf& form) {
  std::vector<const Hint*> candidates, out;
  for (const std::span<const Hint> list : all_hints())
    for (const Hint& hint : list)
      if (of_form(hint, form)) candidates.push_back(&hint);
  for (unsigned bit = 0; bit < 8U * form.instruction.size; ++bit) {
    const Layout::Place place = form.layout.place(bit);
    const auto at = std::find_if(candidates.begin(), candidates.end(), [&](auto* h) { return says(*h, form, place); });
    out.push_back(at == candidates.end() ? nullptr : *at);
  }
  return out;
}

}  // namespace rapt::sim::test
