#include "cli/install/elf_symbols.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "cli/io/file.hpp"

namespace rapt::cli {

namespace {

using Bytes = std::span<const std::byte>;

Bytes part(Bytes file, uint64_t offset, uint64_t size) {
  return offset <= file.size() && size <= file.size() - offset ? file.subspan(offset, size) : Bytes{};
}

template <class Struct>
std::optional<Struct> at(Bytes bytes, uint64_t index) {
  const Bytes from = part(bytes, index * sizeof(Struct), sizeof(Struct));
  if (from.empty()) return std::nullopt;
  Struct s;
  std::memcpy(&s, from.data(), sizeof s);
  return s;
}

std::string text(Bytes strings, uint64_t offset) {
  const Bytes from = offset < strings.size() ? strings.subspan(offset) : Bytes{};
  const auto* const first = reinterpret_cast<const char*>(from.data());
  return std::string(first, std::find(first, first + from.size(), '\0'));
}

}  // namespace

ElfSymbols elf_symbols(const std::string& path, const std::vector<std::string>& prefixes) {
  ElfSymbols symbols;
  const MappedFile file(path);
  const auto header = at<Elf64_Ehdr>(file.bytes(), 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64)
    return symbols;
  const Bytes sections = part(file.bytes(), header->e_shoff, uint64_t{header->e_shnum} * sizeof(Elf64_Shdr));
  for (uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = at<Elf64_Shdr>(sections, i);
    if (!section || section->sh_type != SHT_DYNSYM) continue;
    const auto names = at<Elf64_Shdr>(sections, section->sh_link);
    const Bytes strings = names ? part(file.bytes(), names->sh_offset, names->sh_size) : Bytes{};
    const Bytes table = part(file.bytes(), section->sh_offset, section->sh_size);
    for (uint64_t s = 0; const auto symbol = at<Elf64_Sym>(table, s); ++s) {
      const std::string name = text(strings, symbol->st_name);
      if (std::ranges::none_of(prefixes, [&](const std::string& prefix) { return name.starts_with(prefix); })) continue;
      (symbol->st_shndx == SHN_UNDEF ? symbols.undefined : symbols.defined).push_back(name);
    }
  }
  std::ranges::sort(symbols.defined);
  std::ranges::sort(symbols.undefined);
  return symbols;
}

}  // namespace rapt::cli
