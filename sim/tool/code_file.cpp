#include "sim/tool/code_file.hpp"

#include "sim/loader/bundle.hpp"
#include "sim/loader/target.hpp"

namespace rapt::sim::tool {
namespace {

using Span = std::span<const std::byte>;

bool begins_bundle(Span bytes) { return is_bundle(bytes) || is_compressed(bytes); }

// The section that clang puts a program's bundles into, one after the other at whole pages.
std::vector<Span> bundles_of_program(Span file) {
  const Bytes bytes(file, "program");
  const auto header = bytes.at<elf::Header>(0);
  if (header.ident[4] != 2 || header.ident[5] != 1 || header.section_header_size != sizeof(elf::Section))
    broken("not a 64-bit little-endian ELF file with sections");
  const auto at = [&](unsigned n) { return bytes.at<elf::Section>(header.section_headers + n * sizeof(elf::Section)); };
  const elf::Section names = at(header.section_names);
  const Bytes texts(bytes.part(names.offset, names.size), "section names");
  std::vector<Span> bundles;
  for (unsigned n = 0; n < header.section_header_count; ++n) {
    const elf::Section section = at(n);
    if (section.type == elf::section_nobits || texts.text(section.name) != ".hip_fatbin") continue;
    const Span all = bytes.part(section.offset, section.size);
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
  for (int n = 0; n < arch_count; ++n) {
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
  const bool program =
      elf::is_elf(bytes) && Bytes(bytes, "ELF header").at<elf::Header>(0).machine != elf::machine_amdgpu;
  if (!program) add_fitting(bytes, arch, found);
  else
    for (const Span bundle : bundles_of_program(bytes)) add_fitting(bundle, arch, found);
  return found;
}

}  // namespace rapt::sim::tool
