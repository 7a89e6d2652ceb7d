#include "sim/loader/elf.hpp"

namespace rapt::sim::elf {

namespace {

constexpr unsigned char os_amdgpu_hsa = 64;  // ELFOSABI_AMDGPU_HSA, which <elf.h> does not name

}  // namespace

Elf64_Ehdr header(std::span<const std::byte> file) {
  if (!is_elf(file)) broken("not an ELF file");
  const auto header = Bytes(file, "ELF header").at<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    broken("not a 64-bit little-endian ELF file");
  if (header.e_machine != EM_AMDGPU)
    throw LoadError(LoadError::Kind::wrong_arch,
                    "ELF file for machine " + std::to_string(header.e_machine) + ", not for an AMD GPU (224)");
  if (header.e_ident[EI_OSABI] != os_amdgpu_hsa) broken("ELF file for another system than AMD HSA");
  if (header.e_type != ET_DYN) broken("not a linked code object (ELF type " + std::to_string(header.e_type) + ")");
  const unsigned version = header.e_ident[EI_ABIVERSION];
  if (version < 1 || version > 4)
    broken("code object of ABI version " + std::to_string(version) + ", versions 3 to 6 (1 to 4) are known");
  return header;
}

unsigned code_object_version(const Elf64_Ehdr& header) { return header.e_ident[EI_ABIVERSION] + 2U; }

std::vector<Elf64_Phdr> segments(std::span<const std::byte> file, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) broken("program headers of a wrong size");
  const Bytes bytes(file, "program headers");
  std::vector<Elf64_Phdr> list;
  for (std::size_t i = 0; i < header.e_phnum; i++) {
    const auto table = bytes.part(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    list.push_back(Bytes(table, "program headers").at<Elf64_Phdr>(i * sizeof(Elf64_Phdr)));
  }
  return list;
}

}  // namespace rapt::sim::elf
