// The dynamic symbols of a shared library on disk, which this process may be unable to load.
#pragma once

#include <string>
#include <vector>

namespace rapt::cli {

struct ElfSymbols {
  std::vector<std::string> defined, undefined;  // symbols that have one of the prefixes, sorted
};

// Empty for a file that is damaged or not a 64-bit ELF library.
ElfSymbols elf_symbols(const std::string& path, const std::vector<std::string>& prefixes);

}  // namespace rapt::cli
