// AMD's loaders take a code object only for the processor that its ELF header names. GPUs with the same instructions
// share code objects (siblings.hpp), which are renamed in memory before they are loaded.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "kernels/siblings.hpp"

namespace rapt {

// Renames a code object of `sibling.code` for the sibling. False, and nothing changed, if the bytes are not one.
inline bool rename_code(std::span<std::byte> code, const Sibling& sibling) {
  constexpr uint16_t kAmdGpu = 224;    // EM_AMDGPU
  constexpr uint32_t kMachine = 0xff;  // EF_AMDGPU_MACH (AMDGPUUsage, "ELF Header")
  Elf64_Ehdr header{};
  if (code.size() >= sizeof header) std::memcpy(&header, code.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_machine != kAmdGpu) return false;

  // The metadata has the name in "amdhsa.target". Both names have the same length.
  const std::string target = "amdgcn-amd-amdhsa--", old = target + std::string(sibling.code);
  std::span<char> rest(reinterpret_cast<char*>(code.data()), code.size());
  bool renamed = false;
  while (true) {
    const auto found = std::ranges::search(rest, old);
    if (found.empty()) break;
    std::ranges::copy(sibling.name, found.begin() + static_cast<std::ptrdiff_t>(target.size()));
    rest = {found.end(), rest.end()};
    renamed = true;
  }
  if (!renamed) return false;
  header.e_flags = (header.e_flags & ~kMachine) | sibling.elf_machine;
  std::memcpy(code.data(), &header, sizeof header);
  return true;
}

}  // namespace rapt
