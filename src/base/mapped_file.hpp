// A whole file mapped for reading.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace rapt::gpu {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);  // throws Error that names the file
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace rapt::gpu
