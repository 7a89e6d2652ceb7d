#include "sim/profile/code_copy.hpp"

#include <algorithm>

namespace rapt::sim {
namespace {

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

std::shared_ptr<const CodeCopy> CodeCopies::of(const Launch& launch) {
  const CodeObject& object = *launch.object;
  const unsigned lanes = launch.kernel->lanes;
  for (const auto& code : codes_)
    if (code->mode.arch == object.arch() && code->mode.lanes == lanes && same(code->file, object.file())) return code;
  const auto copy = [](std::span<const std::byte> bytes) { return std::vector<std::byte>(bytes.begin(), bytes.end()); };
  codes_.push_back(
      std::make_shared<const CodeCopy>(CodeCopy{{object.arch(), lanes}, copy(object.text()), copy(object.file())}));
  return codes_.back();
}

std::uint32_t entry_slot(const Launch& launch) {
  return static_cast<std::uint32_t>(
      (launch.kernel->entry - reinterpret_cast<std::uint64_t>(launch.object->text().data())) / 4);
}

}  // namespace rapt::sim
