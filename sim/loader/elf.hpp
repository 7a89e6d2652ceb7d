// The parts of ELF64 that AMD GPU code objects use (gABI; LLVM's AMDGPUUsage, "ELF Code Object").
#pragma once

#include "sim/loader/bytes.hpp"

namespace rapt::sim::elf {

struct Header {
  unsigned char ident[16];
  std::uint16_t type, machine;
  std::uint32_t version;
  std::uint64_t entry, program_headers, section_headers;
  std::uint32_t flags;
  std::uint16_t header_size, program_header_size, program_header_count;
  std::uint16_t section_header_size, section_header_count, section_names;
};
static_assert(sizeof(Header) == 64);

struct Segment {
  std::uint32_t type, flags;
  std::uint64_t offset, address, physical, file_size, memory_size, alignment;
};
static_assert(sizeof(Segment) == 56);

struct Section {
  std::uint32_t name, type;
  std::uint64_t flags, address, offset, size;
  std::uint32_t link, info;
  std::uint64_t alignment, entry_size;
};
static_assert(sizeof(Section) == 64);

struct Symbol {
  std::uint32_t name;
  unsigned char info, other;
  std::uint16_t section;
  std::uint64_t value, size;
  unsigned type() const { return info & 15U; }
  unsigned binding() const { return info >> 4U; }
};
static_assert(sizeof(Symbol) == 24);

struct Relocation {
  std::uint64_t offset, info;
  std::int64_t addend;
  std::uint32_t type() const { return static_cast<std::uint32_t>(info); }
  std::uint32_t symbol() const { return static_cast<std::uint32_t>(info >> 32); }
};
static_assert(sizeof(Relocation) == 24);

inline constexpr unsigned machine_amdgpu = 224, type_shared = 3, os_amdgpu_hsa = 64;
inline constexpr unsigned segment_load = 1, segment_dynamic = 2, segment_note = 4, flag_execute = 1;
inline constexpr unsigned section_nobits = 8;
inline constexpr unsigned symbol_object = 1, binding_weak = 2, section_undefined = 0, section_reserved = 0xff00;

inline bool is_elf(std::span<const std::byte> bytes) {
  return bytes.size() >= 4 && std::memcmp(bytes.data(), "\177ELF", 4) == 0;
}

// The header, checked: a 64-bit little-endian shared object for AMD GPUs of code object version 3 to 6.
Header header(std::span<const std::byte> file);
std::vector<Segment> segments(std::span<const std::byte> file, const Header& header);
// 3 to 6.
unsigned code_object_version(const Header& header);

}  // namespace rapt::sim::elf
