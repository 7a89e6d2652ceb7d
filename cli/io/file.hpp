// Whole files: reading one, and replacing one so that a reader sees the old content or the new, never a part.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cli/core/error.hpp"

namespace rapt::cli {

// Writes beside the target under another name; commit() makes it durable and renames it over the target. Without a
// commit (an error, a full disk) nothing is left behind and an old target stays as it was.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void sync();  // after this, only the rename can fail
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_, temporary_;
  int fd_ = -1;
  bool synced_ = false;
};

void write_file(const std::string& path, std::string_view text);

// A file mapped for reading. Throws InputError naming the file.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rapt::cli
