#include "sim/validate/family.hpp"

#include "sim/validate/input/input_error.hpp"
#include "sim/validate/families/families.hpp"

#include <charconv>

namespace rapt::sim::validate {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::span<const std::unique_ptr<Family>> families() {
  static const auto all = [] {
    std::vector<std::unique_ptr<Family>> list;
    list.push_back(bf16_gemm());
    list.push_back(fp8_gemm());
    list.push_back(int8_gemm());
    list.push_back(fp4_gemm());
    list.push_back(moe_stage1());
    list.push_back(moe_fp8());
    list.push_back(moe_fp4());
    list.push_back(fmha_forward());
    list.push_back(fmha_backward());
    return list;
  }();
  return all;
}

const Family& family_of(std::string_view kernel) {
  std::string known;
  for (const auto& family : families()) {
    if (family->has(plain_name(kernel))) return *family;
    known += (known.empty() ? "" : ", ") + std::string(family->name());
  }
  throw InputError("no family has the kernel '" + std::string(plain_name(kernel)) + "'; there are " + known);
}

std::string_view plain_name(std::string_view kernel) {
  constexpr std::string_view prefix = "_ZN5aiter";
  if (!kernel.starts_with(prefix) || !kernel.ends_with('E')) return kernel;
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(kernel.data() + prefix.size(), kernel.data() + kernel.size(), length);
  const std::size_t begin = static_cast<std::size_t>(end - kernel.data());
  return error == std::errc() && begin + length + 1 == kernel.size() ? kernel.substr(begin, length) : kernel;
}

std::pair<std::uint32_t, std::uint32_t> tile_of(std::string_view kernel) {
  const std::string_view name = plain_name(kernel);
  for (std::size_t x = name.rfind('x'); x != std::string_view::npos && x > 0; x = name.rfind('x', x - 1)) {
    std::size_t begin = x;
    while (begin > 0 && digit(name[begin - 1])) --begin;
    std::pair<std::uint32_t, std::uint32_t> tile{};
    std::from_chars(name.data() + begin, name.data() + x, tile.first);
    std::from_chars(name.data() + x + 1, name.data() + name.size(), tile.second);
    if (tile.first > 0 && tile.second > 0) return tile;
  }
  throw InputError("the name '" + std::string(name) + "' has no tile");
}

}  // namespace rapt::sim::validate
