// A code object's bytes as a 64-bit ELF file. Reading beyond its end is an Error.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "packer/manifest.hpp"

namespace rapt::archive {

class Elf {
 public:
  // `name` begins errors and must outlive the object.
  Elf(const std::string& name, std::span<const std::byte> bytes) : name_(name), bytes_(bytes) {}

  [[noreturn]] void fail(const std::string& what) const { throw Error(name_ + ": " + what); }

  std::span<const std::byte> part(uint64_t offset, uint64_t size, const char* what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      fail(std::string(what) + " is beyond the end of the code object");
    return bytes_.subspan(offset, size);
  }

  template <class T>
  T read(uint64_t offset, const char* what) const {
    T value;
    std::memcpy(&value, part(offset, sizeof value, what).data(), sizeof value);
    return value;
  }

  // The header, if the file is for this machine (an EM_ number), called `machine_name` in errors.
  Elf64_Ehdr header(uint16_t machine, const char* machine_name) const {
    const auto header = read<Elf64_Ehdr>(0, "the ELF header");
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
      fail("not a 64-bit ELF file");
    if (header.e_machine != machine) fail(std::string("an ELF file, but not for ") + machine_name);
    return header;
  }

 private:
  const std::string& name_;
  std::span<const std::byte> bytes_;
};

}  // namespace rapt::archive
