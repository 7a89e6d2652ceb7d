#include "sim/tool/code_file.hpp"

#include "sim/loader/bundle.hpp"
#include "sim/loader/target.hpp"

namespace rapt::sim::tool {
namespace {

using Span = std::span<const std::byte>;

bool begins_bundle(Span bytes) { return is_bundle(bytes) || is_compressed(bytes); }

// The section into which clang puts a program's bundles, one after the other, aligned to pages.
std::vector<Span> bundles_of_program(Span file) {
  const Bytes bytes(file, "program");
  const auto header = bytes.at<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    broken("not a 64-bit little-endian ELF file with sections");
  const auto at = [&](unsigned n) { return bytes.at<Elf64_Shdr>(header.e_shoff + n * sizeof(Elf64_Shdr)); };
  const Elf64_Shdr names = at(header.e_shstrndx);
  const Bytes texts(bytes.part(names.sh_offset, names.sh_size), "section names");
  std::vector<Span> bundles;
  for (unsigned n = 0; n < header.e_shnum; ++n) {
    const Elf64_Shdr section = at(n);
    if (section.sh_type == SHT_NOBITS || texts.text(section.sh_name) != ".hip_fatbin") continue;
    const Span all = bytes.part(section.sh_offset, section.sh_size);
    std::size_t begin = all.size();
    for (std::size_t page = 0; page < all.size(); page += 4096) {
      if (!begins_bundle(all.subspan(page))) continue;
      if (begin < page) bundles.push_back(all.subspan(begin, page - begin));
      begin = page;
    }
    if (begin < all.size()) bundles.push_back(all.subspan(begin));
  }
  if (bundles.empty()) broken("a program without HIP code (no section .hip_fatbin)");
  return bundles;
}

void add_fitting(Span bytes, const Arch* wanted, std::vector<FoundCode>& found) {
  for (int n = 0; n < device_arch_count; ++n) {
    const Arch arch = static_cast<Arch>(n);
    if (wanted && *wanted != arch) continue;
    try {
      std::vector<std::byte> storage;
      const Span code = select_code_object(bytes, arch, storage);
      if (fitness(elf_target(elf::header(code)), arch) == 0) continue;
      found.push_back({arch, {code.begin(), code.end()}});
    } catch (const LoadError& failure) {
      if (failure.kind != LoadError::Kind::wrong_arch) throw;
    }
  }
}

}  // namespace

std::vector<FoundCode> find_code(Span bytes, const Arch* arch) {
  std::vector<FoundCode> found;
  const bool program = elf::is_elf(bytes) && Bytes(bytes, "ELF header").at<Elf64_Ehdr>(0).e_machine != EM_AMDGPU;
  if (!program) add_fitting(bytes, arch, found);
  else
    for (const Span bundle : bundles_of_program(bytes)) add_fitting(bundle, arch, found);
  return found;
}

}  // namespace rapt::sim::tool
