// An ELF object with only a .text section and its symbols, for LLVM's tools to read.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rapt::sim::test {

struct TextSymbol {
  std::string name;
  std::uint64_t offset;  // in .text
};

std::string object_file(std::span<const std::byte> text, const std::vector<TextSymbol>& symbols);

}  // namespace rapt::sim::test
