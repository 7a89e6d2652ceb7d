#include "sim/tests/support/programs/object_file.hpp"

#include <elf.h>

#include <cstring>

namespace rapt::sim::test {
namespace {

template <typename T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";

Elf64_Shdr section(const char* name, unsigned type, std::size_t offset, std::size_t size) {
  Elf64_Shdr header{};
  for (std::size_t at = 1; at < sizeof section_names; at += std::strlen(section_names + at) + 1)
    if (std::strcmp(section_names + at, name) == 0) header.sh_name = static_cast<Elf64_Word>(at);
  header.sh_type = type;
  header.sh_offset = offset, header.sh_size = size;
  header.sh_addralign = 8;
  return header;
}

}  // namespace

std::string object_file(std::span<const std::byte> text, const std::vector<TextSymbol>& symbols) {
  std::string names(1, '\0'), table;
  append(table, Elf64_Sym{});
  for (const TextSymbol& symbol : symbols) {
    Elf64_Sym entry{};
    entry.st_name = static_cast<Elf64_Word>(names.size());
    entry.st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE);
    entry.st_shndx = 1;
    entry.st_value = symbol.offset;
    append(table, entry);
    names += symbol.name;
    names += '\0';
  }
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL, header.e_machine = EM_AMDGPU, header.e_version = EV_CURRENT;
  header.e_flags = 0x4a;  // EF_AMDGPU_MACH_AMDGCN_GFX1151: any amdgcn; the tools are told which one
  header.e_ehsize = sizeof header, header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 5, header.e_shstrndx = 4;

  std::string file(sizeof header, '\0');
  const auto add = [&file](const void* data, std::size_t size) {
    file.resize((file.size() + 7) / 8 * 8);
    const std::size_t at = file.size();
    file.append(static_cast<const char*>(data), size);
    return at;
  };
  Elf64_Shdr headers[5] = {};
  headers[1] = section(".text", SHT_PROGBITS, add(text.data(), text.size()), text.size());
  headers[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  headers[2] = section(".symtab", SHT_SYMTAB, add(table.data(), table.size()), table.size());
  headers[2].sh_link = 3, headers[2].sh_entsize = sizeof(Elf64_Sym);
  headers[2].sh_info = static_cast<Elf64_Word>(symbols.size() + 1);  // all are local
  headers[3] = section(".strtab", SHT_STRTAB, add(names.data(), names.size()), names.size());
  headers[4] = section(".shstrtab", SHT_STRTAB, add(section_names, sizeof section_names), sizeof section_names);
  header.e_shoff = add(headers, sizeof headers);
  std::memcpy(file.data(), &header, sizeof header);
  return file;
}

}  // namespace rapt::sim::test
