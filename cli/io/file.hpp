// Reading whole files.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cli/inputs/error.hpp"

namespace rapt::cli {

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
