// The segments of a code object in memory, relocated.
#pragma once

#include "sim/loader/elf.hpp"

namespace rapt::sim {

struct DynamicSymbol {
  std::string_view name;                // in the image
  std::uint64_t address = 0, size = 0;  // in memory
  bool object = false, defined = false, weak = false;
};

class Image {
 public:
  Image(std::span<const std::byte> file, const Elf64_Ehdr& header, int device);
  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  const std::vector<DynamicSymbol>& symbols() const { return symbols_; }
  std::span<const std::byte> notes() const { return notes_; }
  // The executable segment that holds the address; empty if there is none.
  std::span<const std::byte> executable(std::uint64_t address) const;
  std::span<const std::byte> first_executable() const;
  // Whether one segment contains all of the bytes.
  bool holds(std::uint64_t address, std::uint64_t size) const;

 private:
  struct Loaded {
    std::uint64_t begin, size;  // relative to the image
    bool execute, adopted;
  };

  void place(std::span<const std::byte> file, const std::vector<Elf64_Phdr>& segments);
  void read_dynamic(const Elf64_Phdr& dynamic);
  void read_symbols(std::uint64_t table, std::uint64_t count, std::uint64_t names, std::uint64_t names_size);
  void relocate(std::uint64_t table, std::uint64_t size);
  void apply(const Elf64_Rela& relocation);
  std::uint64_t symbol_count(std::uint64_t hash, std::uint64_t gnu_hash) const;
  void release();

  Bytes memory() const { return {{base_, size_}, "loaded segments"}; }
  std::uint64_t base() const { return reinterpret_cast<std::uint64_t>(base_); }

  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t file_size_ = 0;  // no table has more entries than the file has bytes
  std::vector<Loaded> loaded_;
  std::vector<DynamicSymbol> symbols_;
  std::span<const std::byte> notes_;
};

}  // namespace rapt::sim
