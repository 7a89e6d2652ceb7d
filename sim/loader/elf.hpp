// The ELF of AMD GPU code objects (LLVM's AMDGPUUsage, "ELF Code Object"), with the structs of <elf.h>.
#pragma once

#include "sim/loader/bytes.hpp"

#include <elf.h>

namespace rapt::sim::elf {

inline bool is_elf(std::span<const std::byte> bytes) {
  return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0;
}

// The header, checked: a 64-bit little-endian shared object for AMD GPUs of code object version 3 to 6.
Elf64_Ehdr header(std::span<const std::byte> file);
std::vector<Elf64_Phdr> segments(std::span<const std::byte> file, const Elf64_Ehdr& header);
// 3 to 6.
unsigned code_object_version(const Elf64_Ehdr& header);

}  // namespace rapt::sim::elf
