#include "cli/inputs/kind.hpp"

#include <utility>

#include "cli/inputs/error.hpp"

namespace rapt::cli {

namespace {

constexpr std::pair<const char*, InputKind> kKinds[] = {
    {"normal", InputKind::normal},
    {"outliers", InputKind::outliers},
    {"large", InputKind::large},
    {"huge", InputKind::huge},
    {"identical", InputKind::identical},
    {"constant-v", InputKind::constant_v},
    {"hostile-bias", InputKind::hostile_bias},
    {"masked-rows", InputKind::masked_rows},
    {"poison-unseen", InputKind::poison_unseen},
    {"poison-seen", InputKind::poison_seen},
};

}  // namespace

InputKind parse_input_kind(const std::string& name) {
  for (const auto& [text, kind] : kKinds)
    if (name == text) return kind;
  throw InputError("input kind '" + name + "' is unknown; use " + input_kind_names());
}

std::string input_kind_name(InputKind wanted) {
  for (const auto& [text, kind] : kKinds)
    if (kind == wanted) return text;
  return "";
}

std::string input_kind_names() {
  std::string names;
  for (const auto& [text, kind] : kKinds) names += (names.empty() ? "" : ", ") + std::string(text);
  return names;
}

}  // namespace rapt::cli
