// The dynamic symbols of a shared library on disk, which may be for another run-time than this process's.
#pragma once

#include <string>
#include <vector>

namespace rapt::cli {

struct ElfSymbols {
  std::vector<std::string> defined, undefined;  // of those with one of the prefixes, sorted
};

// Nothing for a file that is not a 64-bit ELF library, or damaged.
ElfSymbols elf_symbols(const std::string& path, const std::vector<std::string>& prefixes);

}  // namespace rapt::cli
