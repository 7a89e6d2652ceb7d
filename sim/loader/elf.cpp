#include "sim/loader/elf.hpp"

namespace rapt::sim::elf {

Header header(std::span<const std::byte> file) {
  if (!is_elf(file)) broken("not an ELF file");
  const auto header = Bytes(file, "ELF header").at<Header>(0);
  if (header.ident[4] != 2 || header.ident[5] != 1) broken("not a 64-bit little-endian ELF file");
  if (header.machine != machine_amdgpu)
    throw LoadError(LoadError::Kind::wrong_arch,
                    "ELF file for machine " + std::to_string(header.machine) + ", not for an AMD GPU (224)");
  if (header.ident[7] != os_amdgpu_hsa) broken("ELF file for another system than AMD HSA");
  if (header.type != type_shared) broken("not a linked code object (ELF type " + std::to_string(header.type) + ")");
  if (header.ident[8] < 1 || header.ident[8] > 4)
    broken("code object of ABI version " + std::to_string(header.ident[8]) + ", versions 3 to 6 (1 to 4) are known");
  return header;
}

unsigned code_object_version(const Header& header) { return header.ident[8] + 2U; }

std::vector<Segment> segments(std::span<const std::byte> file, const Header& header) {
  if (header.program_header_size != sizeof(Segment)) broken("program headers of a wrong size");
  const Bytes bytes(file, "program headers");
  std::vector<Segment> list;
  for (std::size_t i = 0; i < header.program_header_count; i++) {
    const auto table = bytes.part(header.program_headers, std::uint64_t{header.program_header_count} * sizeof(Segment));
    list.push_back(Bytes(table, "program headers").at<Segment>(i * sizeof(Segment)));
  }
  return list;
}

}  // namespace rapt::sim::elf
